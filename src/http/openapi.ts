import { z } from 'zod'
import { LINES } from './protocol/progress-lines.ts'
import { errorBody } from './protocol/records.ts'
import type { Route } from './routes/route.ts'

type Json = Record<string, unknown>

/** The description of the API, from the schemas that check its requests. */
export function openApi(routes: readonly Route[], prefix: string, version: string): Json {
  const components: Json = {}
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output') => shared(schema, io, components)
  const failure = {
    description: 'What went wrong, and what to do',
    content: asJson(schemaOf(errorBody, 'output')),
  }
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = `${prefix}${route.path.replaceAll(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method]: operationOf(route, schemaOf, failure) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gleaner',
      version,
      description: 'Durable background work. Ids are opaque strings, times are milliseconds since 1970.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }, { cookie: [] }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A viewer reads. An operator also makes changes. A worker only pulls work.',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'gleaner',
          description:
            'POST /session sets it, for browsers. On ports other than 80 and 443 its name ends with the port: gleaner-8356',
        },
      },
    },
  }
}

const AUDIENCES = {
  anyone: 'No token is required.',
  viewer: 'Requires the role viewer or operator.',
  operator: 'Requires the role operator.',
  worker: 'Requires the role worker or operator.',
}

function operationOf(
  route: Route,
  schemaOf: (schema: z.ZodType, io: 'input' | 'output') => Json,
  failure: Json,
): Json {
  const status = route.status ?? (route.answer === null && route.path !== '/events' ? 204 : 200)
  const success =
    route.answer === null
      ? { description: route.path === '/events' ? 'A stream of events' : 'Done' }
      : { description: 'Done', content: { ...asJson(schemaOf(route.answer, 'output')), ...linesOf(route) } }
  return {
    operationId: `${route.method}${route.path.replaceAll(/[/:-]+(\w)/g, (_, letter) => letter.toUpperCase())}`,
    summary: route.summary,
    ...(route.deprecated === undefined ? {} : { deprecated: true }),
    description: AUDIENCES[route.role ?? 'anyone'],
    ...(route.role === null ? { security: [] } : {}),
    parameters: [
      ...parametersIn('path', route.params, schemaOf),
      ...parametersIn('query', route.query, schemaOf),
    ],
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: asJson(schemaOf(route.body, 'input')) } }),
    responses: { [status]: success, default: failure },
  }
}

function parametersIn(
  place: 'path' | 'query',
  schema: z.ZodType | undefined,
  schemaOf: (schema: z.ZodType, io: 'input' | 'output') => Json,
): Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...inner }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: inner,
    // Lists have commas between.
    ...(inner.type === 'array' ? { style: 'form', explode: false } : {}),
  }))
}

/** Records that have a name stand in `components` once. */
function shared(schema: z.ZodType, io: 'input' | 'output', components: Json): Json {
  const { $schema: _, $defs = {}, ...json } = z.toJSONSchema(schema, { io }) as Json & { $defs?: Json }
  for (const [name, one] of Object.entries($defs)) components[name] = referring(one)
  const { id } = json
  if (typeof id !== 'string') return referring(json) as Json
  components[id] = referring(json)
  return { $ref: `#/components/schemas/${id}` }
}

function referring(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referring)
  if (typeof value !== 'object' || value === null) return value
  const { id: _, ...rest } = value as Json
  return Object.fromEntries(
    Object.entries('type' in value && typeof (value as Json).id === 'string' ? rest : value).map(
      ([name, one]) => [
        name,
        name === '$ref' ? String(one).replace('#/$defs/', '#/components/schemas/') : referring(one),
      ],
    ),
  )
}

function linesOf({ tells }: Route): Json {
  if (!tells) return {}
  const description =
    'If the client accepts it: lines of JSON with the progress, `{ progress }`, and `{ answer }` or `{ error }` as the last line'
  return { [LINES]: { schema: { type: 'string', description } } }
}

function asJson(schema: Json): Json {
  return { 'application/json': { schema } }
}
