export const LINES = 'application/x-ndjson'

/** Whoever asks so is told how far it is, while it is done; everybody else gets the answer alone. */
export function wantsLines(request: Request): boolean {
  return (request.headers.get('accept') ?? '').split(',').some((type) => type.trim().split(';')[0] === LINES)
}

/** A line, as it goes out. */
export interface LineFormat {
  write(line: object): string
  failed(error: unknown): object
}

/**
 * Lines of JSON: `{ progress }` as it goes on, at last `{ answer }` or `{ error }`. What fails before anything was done is thrown: it can still
 * have a status of its own. Who reads slowly is told the latest only, so that nothing piles up; who leaves changes nothing.
 */
export async function inLines(
  work: (tell: (soFar: unknown) => void) => Promise<unknown>,
  { write, failed }: LineFormat,
): Promise<Response> {
  let progress: object | undefined
  let last: object | undefined
  let news = Promise.withResolvers<void>()
  const working = work((soFar) => {
    progress = { progress: soFar }
    news.resolve()
  })
  const ended = working.then(
    (answer) => {
      last = { answer }
      news.resolve()
    },
    (error) => {
      last = failed(error)
      news.resolve()
    },
  )
  await Promise.race([news.promise, ended])
  if (progress === undefined) await working
  const encoder = new TextEncoder()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await news.promise
        // At the end also how far it came: who draws it draws it to its end.
        const lines = [progress, last].filter((line) => line !== undefined)
        progress = undefined
        news = Promise.withResolvers()
        controller.enqueue(encoder.encode(lines.map((line) => `${write(line)}\n`).join('')))
        if (last !== undefined) controller.close()
      },
    },
    // Nothing is made before there is room for it.
    { highWaterMark: 0 },
  )
  return new Response(stream, {
    headers: { 'content-type': `${LINES}; charset=utf-8`, 'x-accel-buffering': 'no' },
  })
}
