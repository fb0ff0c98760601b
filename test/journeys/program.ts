import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'

/** The child's side of `Child`. */

export function argument<T>(): T {
  // Everything is loaded by now; who is killed later could not keep it for the next one.
  flushCompileCache()
  return JSON.parse(process.argv[2]!) as T
}

/** Written before it returns: what was said before a kill has been said. Silent in a test's own process. */
export function say(event: string, details: object = {}): void {
  if (process.env.GLEANER_CHILD === undefined) return
  let bytes = Buffer.from(`${JSON.stringify({ event, ...details })}\n`)
  while (bytes.length > 0) bytes = bytes.subarray(written(bytes))
}

/** The pipe does not block: when the test is slow to read, it is full for a moment. */
function written(bytes: Buffer): number {
  try {
    return writeSync(1, bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    return 0
  }
}

type Told = { word: string; [detail: string]: any }

const waiting = new Map<string, Set<(told: Told) => void>>()
let listening = false

/** Calls `then` each time the test tells this word. */
export function whenTold(word: string, then: (told: Told) => void): void {
  listen()
  waiting.set(word, (waiting.get(word) ?? new Set()).add(then))
}

/** The next time the test tells this word. */
export function told(word: string): Promise<Told> {
  return new Promise((resolve) => {
    whenTold(word, function once(told) {
      waiting.get(word)?.delete(once)
      resolve(told)
    })
  })
}

function listen(): void {
  if (listening) return
  listening = true
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    const told = JSON.parse(line) as Told
    for (const then of [...(waiting.get(told.word) ?? [])]) then(told)
  })
  // Whether a process ends by itself is for the engine to decide, not for this pipe. (A file has no unref.)
  const input = process.stdin as { unref?: () => void }
  input.unref?.()
}
