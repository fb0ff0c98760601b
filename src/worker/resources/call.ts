import type { Clock } from '../../clock.ts'

/** Calls code of the user's that may throw, reject or never answer: after `timeoutMs` it is not waited for any more. */
export async function callWithin<T>(
  clock: Pick<Clock, 'after'>,
  timeoutMs: number,
  call: () => T | Promise<T>,
  onLate: (answer: T) => void = () => {},
): Promise<T> {
  let isOver = false
  let cancel = () => {}
  const over = new Promise<never>((_, reject) => {
    cancel = clock.after(timeoutMs, () => {
      isOver = true
      reject(new Error(`no answer within ${timeoutMs} ms`))
    })
  })
  const answer = (async () => call())()
  // A late answer goes to `onLate`. A late failure must not become an unhandled rejection.
  answer.then(
    (late) => isOver && onLate(late),
    () => {},
  )
  try {
    return await Promise.race([answer, over])
  } finally {
    cancel()
  }
}
