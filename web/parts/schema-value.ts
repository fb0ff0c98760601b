import { readExactly } from '../../src/exact-json.ts'

/** What of JSON Schema a form can ask for. Anything else is asked for as JSON. */
export interface Schema {
  type?: string
  title?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  minimum?: number
  maximum?: number
  format?: string
}

/** What stands in the fields: text, until it is sent. */
export type Draft = string | boolean | Draft[] | { [name: string]: Draft }

export type Kind = 'object' | 'array' | 'choice' | 'boolean' | 'number' | 'text' | 'json'

export function kindOf(schema: Schema): Kind {
  if (schema.enum !== undefined) return 'choice'
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined ? 'json' : 'object'
    case 'array':
      return schema.items === undefined || kindOf(schema.items) === 'json' ? 'json' : 'array'
    case 'boolean':
      return 'boolean'
    case 'number':
    case 'integer':
      return 'number'
    case 'string':
      return 'text'
    default:
      return 'json'
  }
}

/** Whether it is more than one box for JSON. */
export function isForm(schema: Schema): boolean {
  return kindOf(schema) === 'object'
}

export function draftOf(schema: Schema): Draft {
  const { default: given } = schema
  switch (kindOf(schema)) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties!).map(([name, one]) => [name, draftOf(one)]))
    case 'array':
      return []
    case 'boolean':
      return given === true
    case 'json':
      return given === undefined ? '' : JSON.stringify(given)
    default:
      return given === undefined ? '' : String(given)
  }
}

/** What is empty is left out; what cannot be a number is sent as it stands, and the schema says what is wrong. */
export function enteredIn(schema: Schema, draft: Draft): unknown {
  switch (kindOf(schema)) {
    case 'object':
      return objectOf(schema, draft as Record<string, Draft>)
    case 'array':
      return (draft as Draft[]).map((one) => enteredIn(schema.items!, one))
    case 'boolean':
      return draft
    case 'choice':
      return schema.enum!.find((one) => String(one) === draft)
    case 'number':
      return draft === '' ? undefined : numberOf(draft as string)
    case 'json':
      return draft === '' ? undefined : readExactly(draft as string)
    case 'text':
      return draft === '' ? undefined : draft
  }
}

function objectOf(schema: Schema, draft: Record<string, Draft>): Record<string, unknown> {
  const entries = Object.entries(schema.properties!).map(([name, one]) => [
    name,
    enteredIn(one, draft[name]!),
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** An integer keeps all its digits, whether the server can do with them or not: it says so. */
function numberOf(text: string): unknown {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) return text
  return /^\s*-?\d+\s*$/.test(text) ? readExactly(String(BigInt(text))) : number
}
