import type { ContenderName, Spread } from '../../contenders/contender.ts'
import { drainOf } from '../../scenarios/drain.ts'
import { type Entry, PER_SECOND, type Scenario, type Target } from '../../scenarios/scenario.ts'
import { OWN, shown } from '../peers.ts'

const TASKS = 50_000
const FIRST = { key: 'firstMs', label: 'start of the worker to its first task', unit: 'ms' } as const

interface Share {
  readonly spread: Spread
  readonly atLeast: number
}

const NAMES_AND_QUEUES: readonly Share[] = (['names', 'queues'] as const).flatMap((over) => [
  { spread: { over, count: 1_000 }, atLeast: 0.7 },
  { spread: { over, count: 10_000 }, atLeast: 0.5 },
])
const KEYS: readonly Share[] = [10, 1_000, 10_000].map((count) => ({
  spread: { over: 'limit keys', count },
  atLeast: 0.6,
}))

export const manyNames: Scenario = {
  id: 'names',
  title: 'Many task names, many queues',
  meaning:
    `${TASKS.toLocaleString('en')} waiting tasks, drained by one process: all of one name in one queue, then spread evenly over ` +
    'names or queues.',
  ...drainsOf(NAMES_AND_QUEUES),
}

export const manyKeys: Scenario = {
  id: 'limit-keys',
  title: 'Many limit keys, a limited queue',
  meaning:
    `${TASKS.toLocaleString('en')} waiting tasks, drained by one process: without limits, in a queue with a limit, and spread evenly over ` +
    'keys with a limit each. No limit is ever reached: this is what counting costs.',
  ...drainsOf(KEYS),
}

function drainsOf(shares: readonly Share[]): Pick<Scenario, 'metrics' | 'entries' | 'targets'> {
  const withQueue = shares === KEYS
  return {
    metrics: [PER_SECOND, FIRST],
    entries: (bench) => {
      const entry = (contender: ContenderName, name: string, queue: object): Entry => ({
        label: label(contender, name),
        contender,
        measure: () => drainOf(bench, { contender, ...queue }, { tasks: TASKS }),
      })
      return OWN.flatMap((contender) => [
        entry(contender, 'one', {}),
        ...(withQueue ? [entry(contender, 'a limited queue', { limits: 'a limited queue' })] : []),
        ...shares.map(({ spread }) => entry(contender, nameOf(spread), { spread })),
      ])
    },
    targets: OWN.flatMap((contender) => [
      ...(withQueue ? [shareOfOne(contender, 'a limited queue', 0.8)] : []),
      ...shares.map(({ spread, atLeast }) => shareOfOne(contender, nameOf(spread), atLeast)),
      ...(withQueue ? [firstStart(contender)] : []),
    ]),
  }
}

function shareOfOne(contender: ContenderName, name: string, atLeast: number): Target {
  return {
    level: 'reach',
    text: `${shown(contender)}, ${name}: ≥ ${atLeast} × one`,
    entry: label(contender, name),
    metric: PER_SECOND.key,
    relativeTo: label(contender, 'one'),
    atLeast,
  }
}

function firstStart(contender: ContenderName): Target {
  return {
    level: 'reach',
    text: `${shown(contender)}, 10,000 limit keys: first start ≤ 200 ms`,
    entry: label(contender, nameOf({ over: 'limit keys', count: 10_000 })),
    metric: FIRST.key,
    atMost: 200,
  }
}

function nameOf({ over, count }: Spread): string {
  return `${count.toLocaleString('en')} ${over}`
}

function label(contender: ContenderName, name: string): string {
  return `${shown(contender)}, ${name}`
}
