import { PAUSE_MAX_MS, PAUSE_MIN_MS, PICKUP_METRICS, pickupEntries } from '../../scenarios/pickup.ts'
import type { Scenario } from '../../scenarios/scenario.ts'

const SAMPLES_OF_POLLERS = 60

export const pickup: Scenario = {
  id: 'pickup',
  title: 'Pickup by an idle worker in another process, default durability',
  meaning:
    `One process enqueues a task at durability full, another that has nothing to do runs it; then a random pause of ` +
    `${PAUSE_MIN_MS}–${PAUSE_MAX_MS} ms. Measured from the call of enqueue, so the commit and its sync are included, and ` +
    'from its acknowledgement (which a worker may well beat), to the first line of the handler. The peers poll ' +
    '(plainjob and liteque each second, sidequest ten times a second, as their documentation says). For them ' +
    'the pause is random over a whole interval, so that tasks do not always arrive at its worst moment.',
  metrics: PICKUP_METRICS,
  entries: pickupEntries([
    { contender: 'gleaner', samples: 300, quickSamples: 10 },
    ...(['sqlite/plainjob', 'sqlite/liteque', 'sqlite/sidequest'] as const).map((contender) => ({
      contender,
      samples: SAMPLES_OF_POLLERS,
      quickSamples: 1,
      roundsMax: 1,
      note: `${SAMPLES_OF_POLLERS} samples, one round`,
    })),
  ]),
  targets: [
    { level: 'reach', text: 'p50 ≤ 2 ms', entry: 'gleaner', metric: 'p50Ms', atMost: 2 },
    { level: 'reach', text: 'p99 ≤ 10 ms', entry: 'gleaner', metric: 'p99Ms', atMost: 10 },
    {
      level: 'stretch',
      text: 'p50 ≤ 1.5 ms (BullMQ on Redis)',
      entry: 'gleaner',
      metric: 'p50Ms',
      atMost: 1.5,
    },
    { level: 'stretch', text: 'p99 ≤ 4 ms (BullMQ on Redis)', entry: 'gleaner', metric: 'p99Ms', atMost: 4 },
  ],
}
