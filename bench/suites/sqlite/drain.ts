import {
  BATCH_TARGET,
  batchEntries,
  drainEntry,
  ERRORS,
  fairShareTarget,
  LEAST_SHARE,
  RSS,
  sharedDrainEntry,
} from '../../scenarios/drain.ts'
import { aTenth, everyone } from '../../scenarios/lineup.ts'
import { PER_SECOND, type Scenario, type Target } from '../../scenarios/scenario.ts'

const SLOW = ['sqlite/liteque', 'sqlite/sidequest'] as const

export const drainOneProcess: Scenario = {
  id: 'drain',
  title: 'Drain 50 000 tasks, one process',
  meaning:
    '50 000 waiting tasks, a no-op handler, until all are recorded as completed; claims and completions at NORMAL for ' +
    'all contenders. The worker’s start is included. Raw: claims 100 with UPDATE … RETURNING, parses, awaits the handler, ' +
    'completes each row, and settles and claims in one transaction. Memory is the RSS of that fresh process at the end.',
  metrics: [PER_SECOND, RSS],
  entries: (bench) =>
    [
      ...everyone(50_000, ['gleaner', 'sqlite/raw', 'sqlite/plainjob']),
      ...aTenth(50_000, SLOW, { roundsMax: 2 }),
    ].map((runner) => drainEntry(bench, runner)),
  targets: [
    {
      level: 'reach',
      text: '≥ 7 × plainjob',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'plainjob',
      atLeast: 7,
    },
    {
      level: 'reach',
      text: '≥ 0.5 × raw claim-and-complete in batches of 100',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.5,
    },
    {
      level: 'reach',
      text: 'worker memory after the drain ≤ 150 MB RSS',
      entry: 'gleaner',
      metric: 'rssMb',
      atMost: 150,
      over: 'every round',
    },
  ],
}

export const drainManyProcesses: Scenario = {
  id: 'drain-processes',
  title: 'Drain with 2 and 4 processes on one file',
  meaning:
    '300 000 waiting tasks (100 000 for the slower peers) shared by several processes that start together; the rate is the total. SQLite has one writer, so ' +
    'the aim is to lose nothing, to starve no process and to show the user no SQLITE_BUSY.',
  metrics: [PER_SECOND, LEAST_SHARE, ERRORS],
  entries: (bench) => {
    // The fast ones get more, so that the start of four processes on two cores is not the subject.
    const [gleaner] = everyone(300_000, ['gleaner'])
    const [raw] = everyone(300_000, ['sqlite/raw'], { roundsMax: 3 })
    const [plainjob] = everyone(100_000, ['sqlite/plainjob'], { roundsMax: 1 })
    const slow = aTenth(100_000, SLOW, { roundsMax: 1 })
    return [
      ...[gleaner!, raw!, plainjob!].flatMap((runner) =>
        [1, 2, 4].map((count) => sharedDrainEntry(bench, runner, count)),
      ),
      ...slow.flatMap((runner) => [1, 2].map((count) => sharedDrainEntry(bench, runner, count))),
    ]
  },
  targets: [2, 4].flatMap((count): Target[] => [
    {
      level: 'reach',
      text: `${count} processes: ≥ 0.9 × one process`,
      entry: `gleaner × ${count}`,
      metric: 'perSecond',
      relativeTo: 'gleaner × 1',
      atLeast: 0.9,
    },
    fairShareTarget(count),
    {
      level: 'reach',
      text: `${count} processes: zero busy errors`,
      entry: `gleaner × ${count}`,
      metric: 'errors',
      atMost: 0,
      over: 'every round',
    },
  ]),
}

export const drainInBatches: Scenario = {
  id: 'drain-batches',
  title: 'Drain 50 000 tasks, a batch handler with 100 items',
  meaning:
    '50 000 waiting tasks, a handler that gets 100 at a time and does nothing, until all are recorded as completed. Raw: claims 100, parses, and completes ' +
    'them, in SQL of its own.',
  metrics: [PER_SECOND, RSS],
  entries: (bench) => batchEntries(bench, everyone(50_000, ['gleaner', 'sqlite/raw'])),
  targets: [BATCH_TARGET],
}
