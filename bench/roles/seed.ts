import { type ContenderName, loadContender, POLL_SHORT_MS, type Spread } from '../contenders/contender.ts'
import { payloads } from '../payload.ts'
import type { LimitsName } from '../scenarios/limits.ts'
import type { StrategyName } from '../scenarios/strategies.ts'

export type SeedState =
  | 'waiting'
  | 'completed'
  | `${'future' | 'incompatible' | 'quarantined' | 'backing-off' | 'claimed'}-in-front`

/** Bounds the memory of this process, and of a contender that makes one transaction of whatever it is given. */
const CHUNK = 100_000

/** Fills a place before the measurement, in a process of its own so that the measured one starts small. */
export async function run(params: {
  contender: ContenderName
  strategy?: StrategyName
  limits?: LimitsName
  spread?: Spread
  place: string
  stock: { state: SeedState; count: number }[]
}): Promise<void> {
  const { open } = await loadContender(params.contender)
  const queue = await open(params.place, {
    durability: 'normal',
    pollMs: POLL_SHORT_MS,
    strategy: params.strategy,
    limits: params.limits,
    spread: params.spread,
  })
  const ways = {
    waiting: queue.enqueueMany,
    completed: queue.keepCompleted,
    'future-in-front': queue.enqueueFutureInFront,
    'incompatible-in-front': queue.enqueueIncompatibleInFront,
    'quarantined-in-front': queue.quarantineInFront,
    'backing-off-in-front': queue.backOffInFront,
    'claimed-in-front': queue.claimInFront,
  }
  let from = 0
  for (const { state, count } of params.stock) {
    const add = ways[state]
    if (!add) throw new Error(`${params.contender} cannot be filled with ${state} tasks`)
    for (const to = from + count; from < to; from += CHUNK)
      await add(payloads(Math.min(CHUNK, to - from), from))
  }
  await queue.close()
}
