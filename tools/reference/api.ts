/** As much of an OpenAPI document as ours has. */
interface Document {
  info: { version: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

interface Operation {
  summary: string
  description: string
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
}

interface Schema {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  additionalProperties?: Schema | boolean
  default?: unknown
  minimum?: number
  maximum?: number
  maxItems?: number
}

/** The page of all routes, from the document that the server itself serves. */
export function apiReference(document: object): string {
  const { paths, components } = document as Document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  return [
    '# The HTTP API',
    '',
    'Every route and record. `npm run reference` makes this page from the OpenAPI document, which the server has at `/api/v1/openapi.json`. The',
    'same schemas check every request. [The guide](../guide/http.md) describes access, events and probes.',
    '',
    'Ids are opaque strings. Times are milliseconds since 1970. A response that is not a success is an [`Error`](#error).',
    '',
    '| route | open to | what it does |',
    '| --- | --- | --- |',
    ...operations.map(
      ({ path, method, operation }) =>
        `| [\`${method} ${path}\`](#${anchor(`${method} ${path}`)}) | ${roleOf(operation)} | ${cell(operation.summary)} |`,
    ),
    ...operations.flatMap(({ path, method, operation }) => operationLines(path, method, operation)),
    '',
    '## Records',
    ...Object.entries(components.schemas)
      .sort(([a], [b]) => a.localeCompare(b))
      .flatMap(([name, schema]) => ['', `### ${name}`, '', ...fieldTable(schema)]),
    '',
  ].join('\n')
}

function roleOf({ description }: Operation): string {
  if (description.startsWith('No token is required')) return 'everyone'
  return description.includes('viewer') ? 'viewers' : 'operators'
}

function operationLines(path: string, method: string, operation: Operation): string[] {
  const { summary, parameters = [], requestBody, responses } = operation
  const body = requestBody?.content['application/json']?.schema
  return [
    '',
    `## ${method} ${path}`,
    '',
    `${summary}. Open to ${roleOf(operation)}.`,
    '',
    ...(parameters.length === 0
      ? []
      : [
          '| parameter | in | type | meaning |',
          '| --- | --- | --- | --- |',
          ...parameters.map(
            (one) =>
              `| \`${one.name}\`${one.required ? '' : ' ?'} | ${one.in} | ${typeOf(one.schema)} | ${cell(aboutOf({ ...one.schema, description: one.description }))} |`,
          ),
          '',
        ]),
    ...(body === undefined ? [] : ['Body:', '', ...fieldTable(body), '']),
    ...Object.entries(responses)
      .filter(([status]) => status !== 'default')
      .map(([status, { description, content }]) => {
        const schema = content?.['application/json']?.schema
        return `Responds with ${status}: ${schema === undefined ? description.toLowerCase() : typeOf(schema)}`
      }),
  ]
}

function fieldTable({ properties = {}, required = [] }: Schema): string[] {
  return [
    '| field | type | meaning |',
    '| --- | --- | --- |',
    ...Object.entries(properties).map(
      ([name, schema]) =>
        `| \`${name}\`${required.includes(name) ? '' : ' ?'} | ${typeOf(schema)} | ${cell(aboutOf(schema))} |`,
    ),
  ]
}

function aboutOf({ description = '', default: preset, minimum, maximum, maxItems }: Schema): string {
  const isBounded = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER
  return [
    description,
    ...(isBounded(minimum) && isBounded(maximum) ? [`${minimum} to ${maximum}`] : []),
    ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
    ...(preset === undefined ? [] : [`default \`${JSON.stringify(preset)}\``]),
  ]
    .filter((part) => part !== '')
    .join('; ')
}

function typeOf(schema: Schema): string {
  const { $ref, type, items, anyOf, properties, additionalProperties } = schema
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)!
    return `[${name}](#${anchor(name)})`
  }
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(' \\| ')
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' \\| ')
  if (items !== undefined) return `[ ${typeOf(items)} ]`
  if (properties !== undefined) return `{ ${Object.keys(properties).join(', ')} }${inside(properties)}`
  if (typeof additionalProperties === 'object') return `{ …: ${typeOf(additionalProperties)} }`
  if (type === undefined) return 'any JSON'
  return [type].flat().join(' \\| ')
}

/** Of a page or a list, what is in it. */
function inside({ items }: Record<string, Schema>): string {
  return items?.items === undefined ? '' : `, items are ${typeOf(items.items)}`
}

function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 _-]/g, '')
    .replaceAll(' ', '-')
}

function cell(text: string): string {
  return text.replaceAll(/(?<!\\)\|/g, '\\|').replaceAll('\n', ' ')
}
