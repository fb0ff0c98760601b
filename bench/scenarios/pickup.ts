import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type ContenderName, labelOf } from '../contenders/contender.ts'
import type { Sent } from '../roles/send-one-by-one.ts'
import type { Ran } from '../roles/work-idly.ts'
import { percentile } from '../statistics.ts'
import type { Bench, Entry, Metric, Sample } from './scenario.ts'

export const PAUSE_MIN_MS = 20
export const PAUSE_MAX_MS = 60
/** After its start a worker may still be looking around. */
export const SETTLE_MS = 2000

export const PICKUP_METRICS: readonly Metric[] = [
  { key: 'p50Ms', label: 'call to run, p50', unit: 'ms' },
  { key: 'p99Ms', label: 'call to run, p99', unit: 'ms' },
  { key: 'afterAckP50Ms', label: 'acknowledgement to run, p50', unit: 'ms' },
  { key: 'afterAckP99Ms', label: 'acknowledgement to run, p99', unit: 'ms' },
]

export interface Watched {
  readonly contender: ContenderName
  readonly samples: number
  readonly quickSamples: number
  readonly note?: string
  readonly roundsMax?: number
}

/** One process sends, another that has nothing to do picks up. */
export function pickupEntries(watched: readonly Watched[]) {
  return (bench: Bench): Entry[] =>
    watched.map(({ contender, samples, quickSamples, note, roundsMax }) => ({
      label: labelOf(contender),
      contender,
      note,
      roundsMax,
      measure: () => measurePickup(bench, contender, bench.size(samples, quickSamples)),
    }))
}

function measurePickup(bench: Bench, contender: ContenderName, samples: number): Promise<Sample> {
  return bench.withFresh(contender, async (place) => {
    // What others have left to be written would keep the disk busy: whoever is measured next would wait for it.
    await promisify(execFile)('sync')
    const worker = bench.start('work-idly', { contender, place, durability: 'full' })
    try {
      const pollMs = await worker.hear<number | undefined>('ready')
      const app = bench.start('send-one-by-one', { contender, place, durability: 'full' })
      try {
        await app.hear('ready')
        await sleep(bench.size(SETTLE_MS, 100))
        const sinceCall: number[] = []
        const sinceAcknowledgement: number[] = []
        for (let n = 0; n < samples; n++) {
          await sleep(randomPauseMs(pollMs))
          app.tell('send', n)
          const [sent, ran] = await Promise.all([app.hear<Sent>('sent'), worker.hear<Ran>('ran')])
          if (ran.n !== n) throw new Error(`task ${ran.n} ran while ${n} was expected`)
          sinceCall.push(ran.atMs - sent.calledMs)
          sinceAcknowledgement.push(ran.atMs - sent.acknowledgedMs)
        }
        app.tell('send', -1)
        await app.result()
        return {
          p50Ms: percentile(sinceCall, 0.5),
          p99Ms: percentile(sinceCall, 0.99),
          afterAckP50Ms: percentile(sinceAcknowledgement, 0.5),
          afterAckP99Ms: percentile(sinceAcknowledgement, 0.99),
        }
      } finally {
        app.kill()
      }
    } finally {
      worker.kill()
    }
  })
}

function randomPauseMs(pollMs: number | undefined): number {
  const maxMs = pollMs === undefined ? PAUSE_MAX_MS : PAUSE_MIN_MS + pollMs
  return PAUSE_MIN_MS + Math.random() * (maxMs - PAUSE_MIN_MS)
}
