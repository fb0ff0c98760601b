import { PAUSE_MAX_MS, PAUSE_MIN_MS, PICKUP_METRICS, pickupEntries } from '../../scenarios/pickup.ts'
import type { Scenario, Target } from '../../scenarios/scenario.ts'

const CONTENDERS = [
  'gleaner',
  'postgres/graphile-worker',
  'postgres/pg-boss',
  'postgres/bullmq',
  'postgres/bullmq-redis',
] as const

/** The slowest hundredth of those that are compared is made of enough, on a disk that has its moods. */
function samplesOf(contender: (typeof CONTENDERS)[number]): number {
  return contender === 'gleaner' || contender === 'postgres/graphile-worker' ? 1_000 : 300
}

export const pickup: Scenario = {
  id: 'pickup',
  title: 'Pickup by an idle worker in another process',
  meaning:
    `One process enqueues a task, another that has nothing to do runs it; then a random pause of ` +
    `${PAUSE_MIN_MS}–${PAUSE_MAX_MS} ms. Measured from the call of enqueue, so the commit and its sync are included, and ` +
    'from its acknowledgement (which a worker may well beat), to the first line of the handler. All of them are woken: ' +
    'by LISTEN/NOTIFY (pg-boss: `useListenNotify`), or by Redis.',
  metrics: PICKUP_METRICS,
  entries: pickupEntries(
    CONTENDERS.map((contender) => ({ contender, samples: samplesOf(contender), quickSamples: 5 })),
  ),
  targets: (['p50', 'p99'] as const).map(
    (which): Target => ({
      level: 'reach',
      text: `${which} not slower than graphile-worker`,
      entry: 'gleaner',
      metric: `${which}Ms`,
      relativeTo: 'graphile-worker',
      atMost: 1,
    }),
  ),
}
