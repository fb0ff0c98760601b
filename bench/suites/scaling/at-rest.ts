import { setTimeout as sleep } from 'node:timers/promises'
import type { ContenderName } from '../../contenders/contender.ts'
import { SETTLE_MS } from '../../scenarios/pickup.ts'
import type { Bench, Metric, Sample, Scenario, Target } from '../../scenarios/scenario.ts'
import { OWN, shown } from '../peers.ts'

const PROCESSES = 32
const SECONDS = 10
const RATES = [0, 1, 10] as const
type Rate = (typeof RATES)[number]
const AT_MOST: Record<Rate, number> = { 0: 5, 1: 8, 10: 15 }

const metricOf = (rate: Rate): Metric => ({
  key: `percentAt${rate}`,
  label: rate === 0 ? 'nothing to do' : `${rate} tasks a second`,
  unit: '% of a core',
})

export const atRest: Scenario = {
  id: 'at-rest',
  title: `${PROCESSES} worker processes with little to do`,
  meaning:
    `Processor time of ${PROCESSES} worker processes, and of the server, over ${SECONDS} s: with nothing to do, and while another ` +
    'process enqueues a task now and then.',
  metrics: RATES.map(metricOf),
  entries: (bench) =>
    [...OWN, 'postgres/graphile-worker' as const].map((contender) => ({
      label: shown(contender),
      contender,
      measure: () => measure(bench, contender),
    })),
  targets: OWN.flatMap((contender) => RATES.map((rate) => target(contender, rate))),
}

function target(contender: ContenderName, rate: Rate): Target {
  const { key, label } = metricOf(rate)
  return {
    level: 'reach',
    text: `${shown(contender)}, ${label}: ≤ ${AT_MOST[rate]} % of a core`,
    entry: shown(contender),
    metric: key,
    atMost: AT_MOST[rate],
  }
}

function measure(bench: Bench, contender: ContenderName): Promise<Sample> {
  const seconds = bench.size(SECONDS, 1)
  return bench.withFresh(contender, async (place, serverMs) => {
    const workers = Array.from({ length: bench.size(PROCESSES, 2) }, () =>
      bench.start('work-idly', { contender, place, durability: 'full' }),
    )
    const percent = async () => {
      const before = serverMs()
      for (const worker of workers) worker.tell('measure-cpu', seconds)
      const shares = await Promise.all(workers.map((worker) => worker.hear<number>('cpu')))
      const server = ((serverMs() - before) / (seconds * 1000)) * 100
      return shares.reduce((sum, share) => sum + share, server)
    }
    try {
      await Promise.all(workers.map((worker) => worker.hear('ready')))
      const sample: Record<string, number> = {}
      for (const rate of RATES) {
        const app =
          rate === 0
            ? undefined
            : bench.start('send-steadily', { contender, place, perSecond: rate, seconds: seconds + 4 })
        await app?.hear('ready')
        app?.tell('go')
        await sleep(bench.size(SETTLE_MS, 100))
        sample[metricOf(rate).key] = await percent()
        await app?.result()
      }
      return sample
    } finally {
      for (const worker of workers) worker.kill()
    }
  })
}
