import { CALLERS, enqueueEntries, enqueueEntry } from '../../scenarios/enqueue.ts'
import { aTenth, everyone, type Runner } from '../../scenarios/lineup.ts'
import { PER_SECOND, type Scenario } from '../../scenarios/scenario.ts'

const SYNCHRONOUS = 'synchronous interface: callers take turns, each with a commit of its own'
const NO_BULK = 'has no bulk call: 100 single ones in flight'
const SLOW = ['sqlite/liteque', 'sqlite/sidequest'] as const

export const enqueueOneByOneNormal: Scenario = {
  id: 'enqueue-normal',
  title: 'Enqueue one by one, durability normal',
  meaning:
    'One caller awaits each task before it sends the next. `synchronous=NORMAL`: an acknowledged task survives a ' +
    'killed process, not a power cut. Raw: one INSERT, one transaction each.',
  metrics: [PER_SECOND],
  entries: enqueueEntries('each', 'normal', oneByOne(30_000)),
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
  entries: enqueueEntries('each', 'full', oneByOne(20_000)),
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
  entries: (bench) => [
    ...enqueueEntries('together', 'full', [
      ...everyone(50_000, ['gleaner']),
      ...everyone(50_000, ['sqlite/raw'], { note: `batches of ${CALLERS}` }),
    ])(bench),
    enqueueEntry(bench, 'each', 'full', { contender: 'sqlite/plainjob', tasks: 5000, note: SYNCHRONOUS }),
    {
      ...enqueueEntry(bench, 'each', 'normal', { contender: 'sqlite/plainjob', tasks: 30_000 }),
      label: 'plainjob, one by one at normal',
    },
    ...enqueueEntries('together', 'full', aTenth(50_000, SLOW))(bench),
  ],
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
    'One call with 100 000 payloads, at durability full. Raw: transactions of 5000 rows, as Gleaner’s. plainjob: `addMany`, which is ' +
    'one transaction.',
  metrics: [PER_SECOND],
  entries: enqueueEntries('many', 'full', [
    ...everyone(100_000, ['gleaner']),
    ...everyone(100_000, ['sqlite/raw'], { note: 'batches of 5000' }),
    ...everyone(100_000, ['sqlite/plainjob'], { note: 'addMany: one transaction' }),
    ...aTenth(100_000, SLOW, { note: NO_BULK }),
  ]),
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

function oneByOne(tasks: number): Runner[] {
  return [...everyone(tasks, ['gleaner', 'sqlite/raw', 'sqlite/plainjob']), ...aTenth(tasks, SLOW)]
}
