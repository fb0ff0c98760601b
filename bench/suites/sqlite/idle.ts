import { setTimeout as sleep } from 'node:timers/promises'
import { type ContenderName, labelOf } from '../../contenders/contender.ts'
import { SETTLE_MS } from '../../scenarios/pickup.ts'
import type { Bench, Entry, Sample, Scenario } from '../../scenarios/scenario.ts'

const COMMITS_PER_SECOND = 1000
const CPU_SECONDS = 10

export const idleCost: Scenario = {
  id: 'idle',
  title: 'What an idle worker costs',
  meaning:
    `Processor time of the whole worker process, all its threads. First over ${CPU_SECONDS} s with nothing to do, then over ` +
    `${CPU_SECONDS} s while another process commits ${COMMITS_PER_SECOND} times a second to its own table in the same ` +
    'file (at NORMAL, so that the disk does not set the pace).',
  metrics: [
    { key: 'idlePercent', label: 'idle', unit: '% of a core' },
    { key: 'busyFilePercent', label: 'while the app commits', unit: '% of a core' },
    { key: 'commitsPerSecond', label: 'commits of the app', unit: 'per second' },
  ],
  entries: (bench) => [
    idleEntry(bench, 'gleaner', 3),
    ...(['sqlite/plainjob', 'sqlite/liteque', 'sqlite/sidequest'] as const).map((contender) =>
      idleEntry(bench, contender, 1),
    ),
  ],
  targets: [
    { level: 'reach', text: 'idle ≤ 0.5 % of a core', entry: 'gleaner', metric: 'idlePercent', atMost: 0.5 },
    {
      level: 'reach',
      text: '≤ 3 % while the app commits 1 000 times a second',
      entry: 'gleaner',
      metric: 'busyFilePercent',
      atMost: 3,
    },
  ],
}

function idleEntry(bench: Bench, contender: ContenderName, roundsMax: number): Entry {
  return {
    label: labelOf(contender),
    contender,
    roundsMax,
    measure: () => measureIdleCost(bench, contender),
  }
}

function measureIdleCost(bench: Bench, contender: ContenderName): Promise<Sample> {
  const seconds = bench.size(CPU_SECONDS, 1)
  return bench.withFresh(contender, async (file) => {
    const worker = bench.start('work-idly', { contender, place: file, durability: 'full' })
    try {
      await worker.hear('ready')
      await sleep(bench.size(SETTLE_MS, 100))
      worker.tell('measure-cpu', seconds)
      const idlePercent = await worker.hear<number>('cpu')

      // The application starts before the measurement and ends after it.
      const app = bench.play('commit-steadily', { file, perSecond: COMMITS_PER_SECOND, seconds: seconds + 2 })
      await sleep(1000)
      worker.tell('measure-cpu', seconds)
      const busyFilePercent = await worker.hear<number>('cpu')
      const { perSecond } = await app
      worker.tell('measure-cpu', 0)
      await worker.result()
      return { idlePercent, busyFilePercent, commitsPerSecond: perSecond }
    } finally {
      worker.kill()
    }
  })
}
