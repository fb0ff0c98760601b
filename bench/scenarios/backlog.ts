import type { ContenderName } from '../contenders/contender.ts'
import type { Bench, Entry, Scenario, Stock, Target } from './scenario.ts'

const FIRST = 10_000
const LIMIT_MS = 10_000
const MILLION = 1_000_000
const CONTENDERS = ['gleaner', 'raw', 'plainjob'] as const

const SHORT = '10 000 waiting'
const CROWDS = {
  waiting: '1 million waiting',
  completed: '1 million completed kept',
  future: '100 000 future of top priority in front',
}

export const drainAnyBacklog: Scenario = {
  id: 'backlog',
  title: 'Drain rate whatever else is in the file',
  meaning:
    `How fast the first ${FIRST.toLocaleString('en')} due tasks run, from the first to the last of them: with only those ` +
    'in the file, with a million waiting, with a million completed ones kept, and with 100 000 tasks of top priority in ' +
    'front that are not due for an hour. Each file is filled once and copied for every round. The peers’ completed ' +
    'tasks were marked by SQL; those without priorities have no equivalent of the last case.',
  metrics: [{ key: 'perSecond', label: 'tasks', unit: 'per second' }],
  entries: (bench) => CONTENDERS.flatMap((contender) => entriesOf(bench, contender)),
  targets: Object.values(CROWDS).map(
    (crowd): Target => ({
      level: 'reach',
      text: `${crowd}: ≥ 0.8 × the rate with 10 000`,
      entry: `gleaner, ${crowd}`,
      metric: 'perSecond',
      relativeTo: `gleaner, ${SHORT}`,
      atLeast: 0.8,
    }),
  ),
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
    CONTENDERS.flatMap((contender) => [
      ask(bench, contender, CROWDS.waiting, million(bench, contender)),
      ask(bench, contender, CROWDS.completed, millionCompleted(bench, contender)),
    ]),
  targets: [CROWDS.waiting, CROWDS.completed].flatMap((crowd): Target[] => [
    {
      level: 'reach',
      text: `${crowd}: counts ≤ 5 ms`,
      entry: `gleaner, ${crowd}`,
      metric: 'countsMs',
      atMost: 5,
    },
    {
      level: 'reach',
      text: `${crowd}: first page ≤ 20 ms`,
      entry: `gleaner, ${crowd}`,
      metric: 'firstPageMs',
      atMost: 20,
    },
  ]),
}

function entriesOf(bench: Bench, contender: ContenderName): Entry[] {
  const due = { state: 'waiting', count: bench.size(FIRST, 300) } as const
  const entries = [
    drainFirst(bench, SHORT, { contender, stock: [due] }),
    drainFirst(bench, CROWDS.waiting, million(bench, contender)),
    drainFirst(bench, CROWDS.completed, millionCompleted(bench, contender)),
  ]
  if (contender !== 'gleaner') return entries
  const future = { state: 'future-in-front', count: bench.size(100_000, 300) } as const
  return [...entries, drainFirst(bench, CROWDS.future, { contender, stock: [future, due] })]
}

function million(bench: Bench, contender: ContenderName): Stock {
  return { contender, stock: [{ state: 'waiting', count: bench.size(MILLION, 1000) }] }
}

function millionCompleted(bench: Bench, contender: ContenderName): Stock {
  return {
    contender,
    stock: [
      { state: 'completed', count: bench.size(MILLION, 1000) },
      { state: 'waiting', count: bench.size(FIRST, 300) },
    ],
  }
}

function drainFirst(bench: Bench, crowd: string, stock: Stock): Entry {
  const { contender } = stock
  const count = bench.size(FIRST, 300)
  return {
    label: `${contender}, ${crowd}`,
    contender,
    measure: () =>
      bench.withStock(stock, async (file) => {
        const { perSecond } = await bench.play('drain-first', { contender, file, count, limitMs: LIMIT_MS })
        return { perSecond }
      }),
  }
}

function ask(bench: Bench, contender: ContenderName, crowd: string, stock: Stock): Entry {
  return {
    label: `${contender}, ${crowd}`,
    contender,
    measure: () =>
      bench.withStock(stock, async (file) => {
        const { countsMs, firstPageMs } = await bench.play('inspect', {
          contender,
          file,
          times: bench.size(30, 3),
        })
        return {
          ...(countsMs !== undefined && { countsMs }),
          ...(firstPageMs !== undefined && { firstPageMs }),
        }
      }),
  }
}
