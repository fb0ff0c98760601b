import type { Payload } from '../payload.ts'

/** Keeps `callers` enqueues under way until all payloads are acknowledged. */
export async function enqueueWithCallers(
  payloads: readonly Payload[],
  callers: number,
  enqueue: (payload: Payload) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const caller = async () => {
    while (next < payloads.length) await enqueue(payloads[next++]!)
  }
  await Promise.all(Array.from({ length: callers }, caller))
}
