import type { ContenderName } from '../../contenders/contender.ts'
import {
  BACKLOG_TARGETS,
  backlogEntry,
  backlogLabel,
  CROWDS,
  type Crowd,
  FIRST,
  stockOf,
} from '../../scenarios/backlog.ts'
import { type Bench, type Entry, PER_SECOND, type Scenario, type Target } from '../../scenarios/scenario.ts'

const CONTENDERS = ['gleaner', 'sqlite/raw', 'sqlite/plainjob'] as const
const MILLIONS = ['waiting', 'completed'] as const

export const drainAnyBacklog: Scenario = {
  id: 'backlog',
  title: 'Drain rate whatever else is in the file',
  meaning:
    `How fast the first ${FIRST.toLocaleString('en')} due tasks run, from the first to the last of them. The file contains ` +
    'only those, or also a million waiting ones, a million completed ones, or 100 000 tasks of top priority in ' +
    'front that are not due for an hour, or that need a capability which this worker lacks. Each file is filled once and copied for every round. The peers’ completed ' +
    'tasks were marked by SQL; those without priorities have no equivalent of the last two cases.',
  metrics: [PER_SECOND],
  entries: (bench) =>
    CONTENDERS.flatMap((contender) => {
      const crowds: readonly Crowd[] = [
        'short',
        ...MILLIONS,
        ...(contender === 'gleaner' ? (['future', 'incompatible'] as const) : []),
      ]
      return crowds.map((crowd) => backlogEntry(bench, contender, crowd))
    }),
  targets: BACKLOG_TARGETS,
}

export const askAtAMillion: Scenario = {
  id: 'questions',
  title: '`counts` and the first page of `list` at 1 million tasks',
  meaning:
    'The two questions a dashboard asks all the time; the median of 30 calls in a fresh process, against a million ' +
    'waiting tasks and against a million completed ones. Raw: `count(*) … GROUP BY status`, and the 50 newest rows.',
  metrics: [
    { key: 'countsMs', label: 'counts', unit: 'ms' },
    { key: 'firstPageMs', label: 'first page', unit: 'ms' },
  ],
  entries: (bench) =>
    CONTENDERS.flatMap((contender) => MILLIONS.map((crowd) => ask(bench, contender, crowd))),
  targets: MILLIONS.flatMap((crowd): Target[] => [
    {
      level: 'reach',
      text: `${CROWDS[crowd]}: counts ≤ 5 ms`,
      entry: backlogLabel('gleaner', crowd),
      metric: 'countsMs',
      atMost: 5,
    },
    {
      level: 'reach',
      text: `${CROWDS[crowd]}: first page ≤ 20 ms`,
      entry: backlogLabel('gleaner', crowd),
      metric: 'firstPageMs',
      atMost: 20,
    },
  ]),
}

function ask(bench: Bench, contender: ContenderName, crowd: Crowd): Entry {
  return {
    label: backlogLabel(contender, crowd),
    contender,
    measure: () =>
      bench.withStock(stockOf(bench, contender, crowd), async (place) => {
        const { countsMs, firstPageMs } = await bench.play('inspect', {
          contender,
          place,
          times: bench.size(30, 3),
        })
        return {
          ...(countsMs !== undefined && { countsMs }),
          ...(firstPageMs !== undefined && { firstPageMs }),
        }
      }),
  }
}
