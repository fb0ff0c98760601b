import { setTimeout as sleep } from 'node:timers/promises'
import { type ContenderName, loadContender, POLL_SHORT_MS } from '../contenders/contender.ts'

/** How fast the first so many tasks run, whatever else is there. From the first to the last of them. */
export async function run(params: {
  contender: ContenderName
  place: string
  count: number
  limitMs: number
}): Promise<{ perSecond: number; ran: number }> {
  const { open } = await loadContender(params.contender)
  const queue = await open(params.place, { durability: 'normal', pollMs: POLL_SHORT_MS })
  const reached = Promise.withResolvers<void>()
  let ran = 0
  let firstMs = 0
  let lastMs = 0

  queue.work({
    onRun() {
      ran++
      if (ran > params.count) return
      lastMs = performance.now()
      if (ran === 1) firstMs = lastMs
      if (ran === params.count) reached.resolve()
    },
    onError: reached.reject,
  })
  await Promise.race([reached.promise, sleep(params.limitMs, undefined, { ref: false })])
  const counted = Math.min(ran, params.count)
  // No stop: the rest of the backlog is not wanted, and the process ends with this.
  return { perSecond: counted > 1 ? ((counted - 1) / (lastMs - firstMs)) * 1000 : 0, ran: counted }
}
