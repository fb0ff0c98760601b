import { setTimeout as sleep } from 'node:timers/promises'
import type { ContenderName } from '../../contenders/contender.ts'
import type { Bench, Sample, Scenario } from '../../scenarios/scenario.ts'
import { percentile } from '../../statistics.ts'
import { OWN, shown } from '../peers.ts'

const SIGNALS = 200
/** Every process is at rest then. */
const PAUSE_MS = 40
const P50 = { key: 'p50Ms', label: 'call to the handler that goes on, p50', unit: 'ms' } as const
const P99 = { key: 'p99Ms', label: 'p99', unit: 'ms' } as const

export const signals: Scenario = {
  id: 'signals',
  title: 'From a signal to the handler that goes on',
  meaning: `${SIGNALS} suspended tasks, one after the other. One process sends the signal, and the idle worker of another one runs the handler up to the line behind its wait.`,
  metrics: [P50, P99],
  entries: (bench) =>
    OWN.map((contender) => ({
      label: shown(contender),
      contender,
      measure: () => measure(bench, contender),
    })),
  targets: (
    [
      ['sqlite/gleaner', 5],
      ['postgres/gleaner', 8],
    ] as const
  ).map(([contender, atMost]) => ({
    level: 'reach' as const,
    text: `${shown(contender)}: p50 ≤ ${atMost} ms`,
    entry: shown(contender),
    metric: P50.key,
    atMost,
  })),
}

function measure(bench: Bench, contender: ContenderName): Promise<Sample> {
  return bench.withFresh(contender, async (place) => {
    const worker = bench.start('await-signals', { place })
    try {
      await worker.hear('ready')
      const sender = bench.start('send-signals', { place })
      try {
        await sender.hear('ready')
        const took: number[] = []
        for (let n = 0; n < bench.size(SIGNALS, 5); n++) {
          worker.tell('next', true)
          const id = await worker.hear<string>('suspended')
          await sleep(PAUSE_MS)
          sender.tell('send', id)
          const [called, resumed] = await Promise.all([
            sender.hear<number>('called'),
            worker.hear<number>('resumed'),
          ])
          took.push(resumed - called)
        }
        sender.tell('send', null)
        worker.tell('next', false)
        await Promise.all([sender.result(), worker.result()])
        return { [P50.key]: percentile(took, 0.5), [P99.key]: percentile(took, 0.99) }
      } finally {
        sender.kill()
      }
    } finally {
      worker.kill()
    }
  })
}
