import type { StandardSchemaV1 as Std } from '@standard-schema/spec'
import { z } from 'zod'

type Json = Record<string, unknown>

/** Of a library that says it in the standard's own words, of zod, of arktype; null: this one cannot. */
export function jsonSchemaOf(schema: Std | undefined): Json | null {
  if (schema === undefined) return null
  try {
    return said(schema)
  } catch {
    // One that cannot be said (a transform, a class) is asked for as plain JSON.
    return null
  }
}

function said(schema: Std): Json | null {
  const standard = schema['~standard'] as Std['~standard'] & {
    jsonSchema?: { input(options: { target: string }): Json }
  }
  if (standard.vendor === 'zod' && '_zod' in schema)
    return z.toJSONSchema(schema as unknown as z.ZodType, { io: 'input', unrepresentable: 'any' }) as Json
  if (standard.jsonSchema !== undefined) return standard.jsonSchema.input({ target: 'draft-2020-12' })
  const { toJsonSchema } = schema as { toJsonSchema?: unknown }
  return typeof toJsonSchema === 'function' ? (toJsonSchema.call(schema) as Json) : null
}
