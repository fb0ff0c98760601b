import { type ContenderName, type Durability, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'
import { payloads } from '../payload.ts'

/** Enqueues the given number the given way. The first few warm the code up and do not count. */
export async function run(params: {
  contender: ContenderName
  place: string
  durability: Durability
  way: 'each' | 'together' | 'many'
  count: number
  callers: number
}): Promise<{ perSecond: number }> {
  const { open } = await loadContender(params.contender)
  const queue = await open(params.place, { durability: params.durability, pollMs: POLL_SHORT_MS })
  const send = {
    each: queue.enqueueEach,
    together: (list: ReturnType<typeof payloads>) => queue.enqueueTogether(list, params.callers),
    many: queue.enqueueMany,
  }[params.way]

  await send(payloads(Math.ceil(params.count / 20)))
  const counted = payloads(params.count)
  const startedMs = performance.now()
  await send(counted)
  const elapsedMs = performance.now() - startedMs
  await queue.close()
  return { perSecond: (params.count / elapsedMs) * 1000 }
}
