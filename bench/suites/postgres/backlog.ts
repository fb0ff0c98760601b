import type { ContenderName } from '../../contenders/contender.ts'
import { BACKLOG_TARGETS, backlogEntry, type Crowd, FIRST } from '../../scenarios/backlog.ts'
import { PER_SECOND, type Scenario } from '../../scenarios/scenario.ts'

const CROWDED: readonly [ContenderName, readonly Crowd[], roundsMax?: number][] = [
  ['gleaner', ['short', 'waiting', 'completed', 'future', 'incompatible']],
  ['postgres/raw', ['short', 'waiting', 'completed'], 2],
  ['postgres/graphile-worker-batched', ['short', 'waiting'], 2],
  ['postgres/pg-boss', ['short', 'waiting'], 2],
]

export const drainAnyBacklog: Scenario = {
  id: 'backlog',
  title: 'Drain rate whatever else is in the database',
  meaning:
    `How fast the first ${FIRST.toLocaleString('en')} due tasks run, from the first to the last of them. The database ` +
    'contains only those, or also a million waiting ones, a million completed ones, or 100 000 tasks of top ' +
    'priority in front that are not due for an hour, or that need a capability which this worker lacks. Each database is filled once, vacuumed and analysed once, and ' +
    'copied for every round. Raw’s completed tasks were marked by SQL; graphile-worker deletes them.',
  metrics: [PER_SECOND],
  entries: (bench) =>
    CROWDED.flatMap(([contender, crowds, roundsMax]) =>
      crowds.map((crowd) => ({ ...backlogEntry(bench, contender, crowd), roundsMax })),
    ),
  targets: BACKLOG_TARGETS,
}
