import type { z } from 'zod'
import { parseJson } from './json.ts'
import { Problem } from './problem.ts'

/** The parts of a request, each checked against its schema before anything else looks at it. */

export function check<T>(schema: z.ZodType<T> | undefined, value: unknown, where: string): T {
  if (schema === undefined) return undefined as T
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = result.error.issues.slice(0, 20).map(({ path, message }) => ({
    path: path.map(String).join('.').slice(0, 200),
    message: message.slice(0, 300),
  }))
  const [first] = issues
  throw new Problem(
    'BAD_REQUEST',
    `${where}: ${first!.path === '' ? '' : `${first!.path}: `}${first!.message}`,
    'The OpenAPI document at /api/v1/openapi.json describes the route.',
    { issues },
  )
}

/** Each name once, unless it was given several times. */
export function queryOf(request: Request): Record<string, unknown> {
  const { searchParams } = new URL(request.url)
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => {
      const values = searchParams.getAll(name)
      return [name, values.length === 1 ? values[0] : values]
    }),
  )
}

/** Undefined: there is none. */
export async function bodyOf(request: Request, maxBytes: number): Promise<unknown> {
  const bytes = await bytesOf(request, maxBytes)
  if (bytes.length === 0) return undefined
  // A form of another site cannot say so without asking us first.
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new Problem(
      'UNSUPPORTED_MEDIA_TYPE',
      'the body must be JSON',
      'Send Content-Type: application/json.',
    )
  return parseJson(textOf(bytes))
}

/** A client that leaves early is no failure of the server: it needs no token, and must not fill the log. */
async function* whole(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body as unknown as AsyncIterable<Uint8Array>
  } catch {
    throw new Problem('BAD_REQUEST', 'the body is incomplete', 'Send the request again.')
  }
}

async function bytesOf(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of whole(request.body)) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Problem('BAD_REQUEST', 'the body is not UTF-8', 'Send JSON in UTF-8.')
  }
}

function tooLarge(maxBytes: number): Problem {
  return new Problem('TOO_LARGE', `the body has more than ${maxBytes} bytes`, 'Send less at a time.', {
    headers: { connection: 'close' },
  })
}
