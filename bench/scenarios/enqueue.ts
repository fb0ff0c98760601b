import type { ContenderName, Durability } from '../contenders/contender.ts'
import type { Bench, Entry, Metric, Scenario } from './scenario.ts'
import { sizeFor, sizeNote } from './sizes.ts'

const PER_SECOND: Metric = { key: 'perSecond', label: 'tasks', unit: 'per second' }
const CALLERS = 100

const SYNCHRONOUS = 'synchronous interface: callers take turns, each with a commit of its own'
const NO_BULK = 'has no bulk call: 100 single ones in flight; a tenth of the tasks'

export const enqueueOneByOneNormal: Scenario = {
  id: 'enqueue-normal',
  title: 'Enqueue one by one, durability normal',
  meaning:
    'One caller awaits each task before it sends the next. `synchronous=NORMAL`: an acknowledged task survives a ' +
    'killed process, not a power cut. Raw: one INSERT, one transaction each.',
  metrics: [PER_SECOND],
  entries: (bench) => oneByOne(bench, 'normal', 30_000),
  targets: [
    {
      level: 'reach',
      text: '≥ 0.6 × raw one-row transactions',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.6,
    },
    {
      level: 'stretch',
      text: '≥ plainjob',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'plainjob',
      atLeast: 1,
    },
  ],
}

export const enqueueOneByOneFull: Scenario = {
  id: 'enqueue-full',
  title: 'Enqueue one by one, durability full (the default)',
  meaning:
    'The same with `synchronous=FULL`: the acknowledgement comes after the disk has it, so the disk’s sync is most ' +
    'of the time.',
  metrics: [PER_SECOND],
  entries: (bench) => oneByOne(bench, 'full', 5000),
  targets: [
    {
      level: 'reach',
      text: '≥ 0.8 × raw with `synchronous=FULL`',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.8,
    },
  ],
}

export const enqueueTogether: Scenario = {
  id: 'enqueue-together',
  title: `Enqueue with ${CALLERS} callers in flight, durability full (the default)`,
  meaning:
    `${CALLERS} callers at once, as in a busy web server, each awaiting its own task on disk. Raw: batches of ` +
    `${CALLERS} rows, each batch one FULL transaction. For the stretch goal plainjob’s one-by-one rate at NORMAL is ` +
    'measured in the same rounds.',
  metrics: [PER_SECOND],
  entries(bench) {
    const entry = (contender: ContenderName, note?: string): Entry => ({
      label: contender,
      contender,
      note: note ?? sizeNote(contender),
      measure: () => enqueue(bench, contender, 'full', 'together', sizeFor(bench, contender, 50_000, 200)),
    })
    return [
      entry('gleaner'),
      entry('raw', 'batches of 100'),
      {
        ...entry('plainjob', SYNCHRONOUS),
        measure: () => enqueue(bench, 'plainjob', 'full', 'each', bench.size(5000, 100)),
      },
      {
        label: 'plainjob, one by one at normal',
        contender: 'plainjob',
        measure: () => enqueue(bench, 'plainjob', 'normal', 'each', bench.size(30_000, 100)),
      },
      entry('liteque'),
      entry('sidequest'),
    ]
  },
  targets: [
    {
      level: 'reach',
      text: '≥ 0.5 × raw FULL batches of 100',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.5,
    },
    {
      level: 'stretch',
      text: '≥ 3 × plainjob’s one-by-one at normal',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'plainjob, one by one at normal',
      atLeast: 3,
    },
  ],
}

export const enqueueMany: Scenario = {
  id: 'enqueue-many',
  title: 'enqueueMany of 100 000',
  meaning:
    'One call with 100 000 payloads, at durability full. Raw: transactions of 1000 rows. plainjob: `addMany`, which is ' +
    'one transaction.',
  metrics: [PER_SECOND],
  entries(bench) {
    const entry = (contender: ContenderName, note?: string): Entry => ({
      label: contender,
      contender,
      note: note ?? sizeNote(contender),
      measure: () => enqueue(bench, contender, 'full', 'many', sizeFor(bench, contender, 100_000, 200)),
    })
    return [
      entry('gleaner'),
      entry('raw', 'batches of 1000'),
      entry('plainjob', 'addMany: one transaction'),
      entry('liteque', NO_BULK),
      entry('sidequest', NO_BULK),
    ]
  },
  targets: [
    {
      level: 'reach',
      text: '≥ 0.5 × raw batches',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.5,
    },
    {
      level: 'stretch',
      text: '≥ plainjob',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'plainjob',
      atLeast: 1,
    },
  ],
}

function oneByOne(bench: Bench, durability: Durability, count: number): Entry[] {
  return (['gleaner', 'raw', 'plainjob', 'liteque', 'sidequest'] as const).map((contender) => ({
    label: contender,
    contender,
    note: sizeNote(contender),
    measure: () => enqueue(bench, contender, durability, 'each', sizeFor(bench, contender, count, 200)),
  }))
}

function enqueue(
  bench: Bench,
  contender: ContenderName,
  durability: Durability,
  way: 'each' | 'together' | 'many',
  count: number,
) {
  return bench.withFile((file) =>
    bench.play('enqueue', { contender, file, durability, way, count, callers: CALLERS }),
  )
}
