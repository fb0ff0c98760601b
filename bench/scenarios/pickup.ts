import { setTimeout as sleep } from 'node:timers/promises'
import type { ContenderName } from '../contenders/contender.ts'
import type { Sent } from '../roles/send-one-by-one.ts'
import type { Ran } from '../roles/work-idly.ts'
import { percentile } from '../statistics.ts'
import type { Bench, Entry, Sample, Scenario } from './scenario.ts'

const PAUSE_MIN_MS = 20
const PAUSE_MAX_MS = 60
const SAMPLES = 300
const SAMPLES_OF_POLLERS = 60
/** After its start a worker may still be looking around. */
const SETTLE_MS = 2000
const COMMITS_PER_SECOND = 1000
const CPU_SECONDS = 10

const PEERS = ['plainjob', 'liteque', 'sidequest'] as const

export const pickup: Scenario = {
  id: 'pickup',
  title: 'Pickup by an idle worker in another process, default durability',
  meaning:
    `One process enqueues a task at durability full, another that has nothing to do runs it; then a random pause of ` +
    `${PAUSE_MIN_MS}–${PAUSE_MAX_MS} ms. Measured from the call of enqueue, so the commit and its sync are included, and ` +
    'from its acknowledgement (which a worker may well beat), to the first line of the handler. The peers look at ' +
    'intervals (plainjob and liteque each second, sidequest ten times a second, as their documentation has it); ' +
    'for them the pause is random over a whole interval, so that they are not always met at its worst moment.',
  metrics: [
    { key: 'p50Ms', label: 'call to run, p50', unit: 'ms' },
    { key: 'p99Ms', label: 'call to run, p99', unit: 'ms' },
    { key: 'afterAckP50Ms', label: 'acknowledgement to run, p50', unit: 'ms' },
    { key: 'afterAckP99Ms', label: 'acknowledgement to run, p99', unit: 'ms' },
  ],
  entries: (bench) => [
    {
      label: 'gleaner',
      contender: 'gleaner',
      measure: () => measurePickup(bench, 'gleaner', bench.size(SAMPLES, 10)),
    },
    ...PEERS.map(
      (contender): Entry => ({
        label: contender,
        contender,
        roundsMax: 1,
        note: `${SAMPLES_OF_POLLERS} samples, one round`,
        measure: () => measurePickup(bench, contender, bench.size(SAMPLES_OF_POLLERS, 1)),
      }),
    ),
  ],
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

export const idleCost: Scenario = {
  id: 'idle',
  title: 'What an idle worker costs',
  meaning:
    `Processor time of the whole worker process, all its threads, over ${CPU_SECONDS} s with nothing to do; and over ` +
    `${CPU_SECONDS} s while another process commits ${COMMITS_PER_SECOND} times a second to a table of its own in the same ` +
    'file (at NORMAL, so that the disk does not set the pace).',
  metrics: [
    { key: 'idlePercent', label: 'idle', unit: '% of a core' },
    { key: 'busyFilePercent', label: 'while the app commits', unit: '% of a core' },
    { key: 'commitsPerSecond', label: 'commits of the app', unit: 'per second' },
  ],
  entries: (bench) => [
    {
      label: 'gleaner',
      contender: 'gleaner',
      roundsMax: 3,
      measure: () => measureIdleCost(bench, 'gleaner'),
    },
    ...PEERS.map(
      (contender): Entry => ({
        label: contender,
        contender,
        roundsMax: 1,
        measure: () => measureIdleCost(bench, contender),
      }),
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

function measurePickup(bench: Bench, contender: ContenderName, samples: number): Promise<Sample> {
  return bench.withFile(async (file) => {
    const worker = bench.start('work-idly', { contender, file, durability: 'full' })
    try {
      const pollMs = await worker.hear<number | undefined>('ready')
      const app = bench.start('send-one-by-one', { contender, file, durability: 'full' })
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

function measureIdleCost(bench: Bench, contender: ContenderName): Promise<Sample> {
  const seconds = bench.size(CPU_SECONDS, 1)
  return bench.withFile(async (file) => {
    const worker = bench.start('work-idly', { contender, file, durability: 'full' })
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
