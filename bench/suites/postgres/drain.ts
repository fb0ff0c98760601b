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

const SLOW = ['postgres/graphile-worker', 'postgres/bullmq', 'postgres/bullmq-redis'] as const
const PROCESSES = [2, 4] as const

export const drainOneProcess: Scenario = {
  id: 'drain',
  title: 'Drain 50 000 tasks, one process',
  meaning:
    '50 000 waiting tasks, a no-op handler, until all are recorded as completed. The worker’s start is included. Claims ' +
    'and completions of Gleaner commit with `synchronous_commit = off` (losing one means running a task again), and so ' +
    'do those of raw; the peers commit as the server is set, which is `on`. Raw: one statement per round trip that ' +
    'completes the last 100, claims the next 100 with FOR UPDATE SKIP LOCKED and answers their payloads. ' +
    'graphile-worker-batched: local queue of 500, completions in batches; pg-boss: batches of 1000 without a pause. ' +
    'Memory is the RSS of that fresh process at the end.',
  metrics: [PER_SECOND, RSS],
  entries: (bench) =>
    [
      ...everyone(50_000, [
        'gleaner',
        'postgres/raw',
        'postgres/graphile-worker-batched',
        'postgres/pg-boss',
      ]),
      ...aTenth(50_000, SLOW, { roundsMax: 2 }),
    ].map((runner) => drainEntry(bench, runner)),
  targets: [
    {
      level: 'reach',
      text: '≥ 1.3 × the faster of graphile-worker (batched) and pg-boss (batch 1000)',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: ['graphile-worker-batched', 'pg-boss'],
      atLeast: 1.3,
    },
    {
      level: 'reach',
      text: '≥ 0.8 × raw batches of 100',
      entry: 'gleaner',
      metric: 'perSecond',
      relativeTo: 'raw',
      atLeast: 0.8,
    },
  ],
}

export const drainManyProcesses: Scenario = {
  id: 'drain-processes',
  title: 'Drain with 2 and 4 processes',
  meaning:
    '100 000 waiting tasks shared by several processes that start together; the rate is the total. Everything else is as ' +
    'with one process.',
  metrics: [PER_SECOND, LEAST_SHARE, ERRORS],
  entries: (bench) =>
    [
      ...everyone(100_000, ['gleaner']),
      ...everyone(100_000, ['postgres/raw'], { roundsMax: 2 }),
      ...everyone(100_000, ['postgres/graphile-worker-batched', 'postgres/pg-boss']),
    ].flatMap((runner) => PROCESSES.map((count) => sharedDrainEntry(bench, runner, count))),
  targets: PROCESSES.flatMap((count): Target[] => [
    {
      level: 'reach',
      text: `${count} processes: ahead of graphile-worker (batched) and pg-boss`,
      entry: `gleaner × ${count}`,
      metric: 'perSecond',
      relativeTo: [`graphile-worker-batched × ${count}`, `pg-boss × ${count}`],
      atLeast: 1,
    },
    fairShareTarget(count),
  ]),
}

export const drainInBatches: Scenario = {
  id: 'drain-batches',
  title: 'Drain 50 000 tasks, a batch handler with 100 items',
  meaning:
    '50 000 waiting tasks, a handler that gets 100 at a time and does nothing, until all are recorded as completed. Raw: claims 100, parses, and completes ' +
    'them, in SQL of its own.',
  metrics: [PER_SECOND, RSS],
  entries: (bench) => batchEntries(bench, everyone(50_000, ['gleaner', 'postgres/raw'])),
  targets: [BATCH_TARGET],
}
