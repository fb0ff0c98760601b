import { onTestFinished } from 'vitest'

export interface Heard {
  id: string | null
  event: string
  data: any
}

export interface Listener {
  readonly heard: readonly Heard[]
  /** As it came over the wire. */
  text(): string
  /** The first of those not yet asked for that is so; waits for it. */
  until(isIt: (heard: Heard) => boolean): Promise<Heard>
  /** When there is nothing more to hear: the server has ended the stream, or somebody its connection. */
  readonly ended: Promise<'ended' | 'cut off'>
  leave(): void
}

/** A client of the events, gone when the test is over. */
export async function listen(url: string, headers: Record<string, string> = {}): Promise<Listener> {
  const leaving = new AbortController()
  const response = await fetch(url, { headers, signal: leaving.signal })
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  const heard: Heard[] = []
  let text = ''
  let asked = 0
  let news = Promise.withResolvers<void>()
  const read = async () => {
    let rest = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      rest += chunk
      const parts = rest.split('\n\n')
      rest = parts.pop()!
      heard.push(...parts.flatMap(eventIn))
      news.resolve()
      news = Promise.withResolvers()
    }
  }
  const ended = read().then(
    () => 'ended' as const,
    () => 'cut off' as const,
  )
  onTestFinished(() => leaving.abort())
  return {
    heard,
    text: () => text,
    ended,
    leave: () => leaving.abort(),
    async until(isIt) {
      for (;;) {
        while (asked < heard.length) {
          const one = heard[asked++]!
          if (isIt(one)) return one
        }
        await news.promise
      }
    },
  }
}

function eventIn(part: string): Heard[] {
  const fields = Object.fromEntries(
    part.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  if (fields.event === undefined) return []
  return [{ id: fields.id ?? null, event: fields.event, data: JSON.parse(fields.data!) }]
}
