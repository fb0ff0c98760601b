import type { SeedState } from '../roles/seed.ts'
import { drainEntry, fairShareTarget, LEAST_SHARE, RSS, sharedDrainEntry } from './drain.ts'
import { everyone } from './lineup.ts'
import { PAUSE_MAX_MS, PAUSE_MIN_MS, PICKUP_METRICS, pickupEntries } from './pickup.ts'
import { type Bench, type Entry, PER_SECOND, type Scenario, type Target } from './scenario.ts'

const contender = 'gleaner-rows'
const TASKS = 50_000
const MILLION = 1_000_000

export const drainRows: Scenario = {
  id: 'rows-drain',
  title: 'Drain 50 000 rows of the app’s own table, one process',
  meaning:
    'Rows that need work are found, claimed, run by a no-op handler and marked done, each compared with what it was when it was ' +
    'claimed; beside it as many tasks of the queue.',
  metrics: [PER_SECOND, RSS],
  entries: (bench) => everyone(TASKS, ['gleaner', contender]).map((runner) => drainEntry(bench, runner)),
  targets: [
    {
      level: 'reach',
      text: '≥ 0.5 × the queue’s drain rate',
      entry: contender,
      metric: PER_SECOND.key,
      relativeTo: 'gleaner',
      atLeast: 0.5,
    },
  ],
}

/** So many that they take ten seconds or so: in their first second processes compile what they run. */
export const drainRowsTogether = (rows: number): Scenario => ({
  id: 'rows-processes',
  title: 'Drain rows with 4 processes',
  meaning: `${rows.toLocaleString('en').replaceAll(',', ' ')} rows, shared by processes that start together; the rate is the total.`,
  metrics: [PER_SECOND, LEAST_SHARE],
  entries: (bench) =>
    everyone(rows, [contender]).flatMap((runner) =>
      [1, 4].map((processes) => sharedDrainEntry(bench, runner, processes)),
    ),
  targets: [
    {
      level: 'reach',
      text: '4 processes: ≥ 0.9 × one process',
      entry: `${contender} × 4`,
      metric: PER_SECOND.key,
      relativeTo: `${contender} × 1`,
      atLeast: 0.9,
    },
    { ...fairShareTarget(4), entry: `${contender} × 4` },
  ],
})

export const pickupOfRows: Scenario = {
  id: 'rows-pickup',
  title: 'Pickup of a row by an idle worker in another process',
  meaning:
    `One process inserts a row that needs work, with SQL of its own, another that has nothing to do runs it; then a random pause of ` +
    `${PAUSE_MIN_MS}–${PAUSE_MAX_MS} ms.`,
  metrics: PICKUP_METRICS,
  entries: pickupEntries([{ contender, samples: 300, quickSamples: 10 }]),
  targets: [
    { level: 'reach', text: 'p50 ≤ 3 ms', entry: contender, metric: 'p50Ms', atMost: 3 },
    { level: 'reach', text: 'p99 ≤ 15 ms', entry: contender, metric: 'p99Ms', atMost: 15 },
  ],
}

/** What stands in front, or how many there are. */
const TABLES = {
  '10 000 rows': [['waiting', 10_000]],
  '1 million rows': [['waiting', MILLION]],
  '10 million rows': [['waiting', 10 * MILLION]],
  'behind 100 000 quarantined': [
    ['quarantined-in-front', 100_000],
    ['waiting', 10_000],
  ],
  'behind 100 000 that back off': [
    ['backing-off-in-front', 100_000],
    ['waiting', 10_000],
  ],
  'behind 100 000 claimed': [
    ['claimed-in-front', 100_000],
    ['waiting', 10_000],
  ],
} as const satisfies Record<string, readonly (readonly [SeedState, number])[]>
type TableName = keyof typeof TABLES

const QUICK_ROWS = 300

export const claimRows: Scenario = {
  id: 'rows-claim',
  title: 'Find and claim one row, whatever the table holds',
  meaning:
    'An exchange that finds and claims the next row, 2 000 times one by one, after 1 000 that are not counted, in a process of its own. The table has 10 thousand, 1 million or 10 ' +
    'million rows that need work, or 100 000 rows in front that no worker may claim.',
  metrics: [
    { key: 'p50Ms', label: 'find and claim, p50', unit: 'ms' },
    { key: 'p99Ms', label: 'find and claim, p99', unit: 'ms' },
  ],
  entries: (bench) => (Object.keys(TABLES) as TableName[]).map((table) => claimEntry(bench, table)),
  targets: (Object.keys(TABLES) as TableName[]).flatMap((table): Target[] => [
    {
      level: table.startsWith('behind') ? 'stretch' : 'reach',
      text: `${table}: p99 ≤ 1 ms`,
      entry: table,
      metric: 'p99Ms',
      atMost: 1,
    },
    ...(table === '10 000 rows' ? [] : [likeTheSmallOne(table)]),
  ]),
}

function likeTheSmallOne(table: TableName): Target {
  return {
    level: 'reach',
    text: `${table}: within 1.25 × of 10 000 rows`,
    entry: table,
    metric: 'p50Ms',
    relativeTo: '10 000 rows',
    atMost: 1.25,
  }
}

function claimEntry(bench: Bench, table: TableName): Entry {
  const stock = TABLES[table].map(([state, count]) => ({ state, count: bench.size(count, QUICK_ROWS) }))
  return {
    label: table,
    contender,
    measure: () =>
      bench.withStock({ contender, stock }, (place) =>
        bench.play('claim-rows', { place, warmUp: bench.size(1_000, 20), times: bench.size(2_000, 20) }),
      ),
  }
}
