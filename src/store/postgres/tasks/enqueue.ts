import { type Follows, followerKey, withoutMark } from '../../follower.ts'
import type { Enqueued, NewTask } from '../../ports/new-task.ts'
import { storedKey, storedOrderKey } from '../../task-row.ts'
import { Slots } from '../limits/counters.ts'
import { type Sql, textList, unnest } from '../server/sql.ts'
import type { Saying } from '../server/wakeups.ts'
import { insertWithKeys } from './held-key.ts'
import type { LanePlace } from './lanes.ts'
import type { Memory } from './memory.ts'
import type { QueueCache } from './queue-cache.ts'

/** In a transaction, ours or a user's own. `clockMs`: null for the server's. `saying`: to be heard with its commit. */
export async function insertTasks(
  sql: Sql,
  memory: Memory,
  tasks: readonly NewTask[],
  clockMs: number | null,
  saying: Saying | null,
): Promise<Enqueued[]> {
  if (tasks.some((task) => task.whenHeld !== null)) {
    await lockKeys(sql, [...new Set(tasks.map(storedKey).filter((key) => key !== null))])
    return insertWithKeys(sql, tasks, clockMs, {
      withoutWish: (some) => insertTasks(sql, memory, some, clockMs, saying),
      asTheyAre: (some) => insert(sql, memory, some, clockMs, saying),
    })
  }
  if (tasks.every((task) => task.key === null)) {
    const ids = await insert(sql, memory, tasks, clockMs, saying)
    return ids.map((id) => ({ id: String(id), created: true }))
  }
  const answers: (Enqueued | undefined)[] = new Array(tasks.length)
  const fresh = await withoutHolder(sql, tasks, answers)
  const ids = await insert(
    sql,
    memory,
    fresh.map((position) => tasks[position]!),
    clockMs,
    saying,
  )
  fresh.forEach((position, i) => {
    answers[position] = { id: String(ids[i]), created: true }
  })
  await answerTwins(sql, tasks, fresh, ids, answers)
  return answers as Enqueued[]
}

/** The positions to insert: those whose key nobody holds. The locks keep everybody else's enqueue of these keys out. */
async function withoutHolder(
  sql: Sql,
  tasks: readonly NewTask[],
  answers: (Enqueued | undefined)[],
): Promise<number[]> {
  const keys = [...new Set(tasks.map(storedKey).filter((key) => key !== null))]
  await lockKeys(sql, keys)
  const holders = await holdersOf(sql, keys)
  const taken = new Set<string>()
  return [...tasks.keys()].filter((position) => {
    const key = storedKey(tasks[position]!)
    if (key === null) return true
    const holder = holders.get(key)
    if (holder !== undefined) answers[position] = { id: String(holder), created: false }
    const twin = taken.has(key)
    taken.add(key)
    return holder === undefined && !twin
  })
}

/** Until the end of the transaction, and in one order, so that nobody waits for one who waits for him. */
export async function lockKeys(sql: Sql, keys: readonly string[]): Promise<void> {
  await sql.run(
    `SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(key, 7)) FROM (SELECT pg_catalog.unnest($1::text[]) AS key ORDER BY 1) k`,
    [keys],
  )
}

/** The same key twice in one call: the first holds it. */
async function answerTwins(
  sql: Sql,
  tasks: readonly NewTask[],
  fresh: readonly number[],
  ids: readonly number[],
  answers: (Enqueued | undefined)[],
): Promise<void> {
  const byKey = new Map<string, number>()
  const forever: [key: string, task: number][] = []
  for (const [i, position] of fresh.entries()) {
    const task = tasks[position]!
    const key = storedKey(task)
    if (key === null) continue
    byKey.set(key, ids[i]!)
    if (task.keyScope === 'forever') forever.push([key, ids[i]!])
  }
  for (const [position, task] of tasks.entries()) {
    const key = storedKey(task)
    if (answers[position] === undefined && key !== null) {
      answers[position] = { id: String(byKey.get(key)), created: false }
    }
  }
  if (forever.length === 0) return
  await sql.run(
    'INSERT INTO gleaner.forever_keys (key, task) SELECT * FROM unnest($1::text[], $2::bigint[])',
    [forever.map(([key]) => key), forever.map(([, task]) => task)],
  )
}

export async function holdersOf(sql: Sql, keys: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql.rows<{ key: string; id: number }>(
    `SELECT key, task AS id FROM gleaner.forever_keys WHERE key = ANY($1)
     UNION ALL
     SELECT active_key AS key, id FROM gleaner.tasks WHERE active_key = ANY($2)
     UNION ALL
     SELECT active_key AS key, id FROM gleaner.tasks WHERE active_key = ANY($1)`,
    [keys, keys.map(followerKey)],
  )
  // The later has the better right: who is unfinished, who waits for that to end, who took it for ever.
  return new Map(rows.map(({ key, id }) => [withoutMark(key), id]))
}

/** The first parameter that is a column: before it come the clock and the notification. */
const FIRST_COLUMN = 4

type Value = string | number | null

/** The columns of a new task as the statement gets them. */
const COLUMNS: readonly [name: string, type: string, of: (task: NewTask & Follows) => Value][] = [
  ['priority', 'int', (task) => task.priority],
  ['max_attempts', 'int', (task) => task.maxAttempts],
  ['key', 'text', storedKey],
  ['active_key', 'text', (task) => (task.follows ? followerKey(storedKey(task)!) : storedKey(task))],
  ['overrides', 'text', (task) => (task.overrides === null ? null : JSON.stringify(task.overrides))],
  ['after_ms', 'bigint', ({ runAfter }) => (runAfter !== null && 'ms' in runAfter ? runAfter.ms : null)],
  ['run_at', 'bigint', ({ runAfter }) => (runAfter !== null && 'at' in runAfter ? runAfter.at : null)],
]

/** Of tasks that wait for others, or that others wait for. They are inserted by themselves. */
const FLOW_COLUMNS: typeof COLUMNS = [
  ...COLUMNS,
  ['flow', 'bigint', ({ flow }) => flow ?? null],
  ['suspends', 'boolean', ({ suspended }) => (suspended ? 'true' : 'false')],
]

/** What a statement writes, and what it selects for `flow` and for whether a task is suspended. */
const PLAIN = [COLUMNS, 'NULL', 'false'] as const
const OF_FLOW = [FLOW_COLUMNS, 'flow', 'suspends'] as const

type ColumnOf = (typeof COLUMNS)[number]

const orderOf: ColumnOf = [
  'order_key',
  'text',
  (task) => (task.orderKey === undefined ? null : storedOrderKey(task)),
]

/** What the statement says more when tasks have an order key. Only claims make a task lead: see `order-outbox.ts`. */
const WITH_ORDER = {
  columns: [orderOf],
  inserted: ', order_key, leads',
  isFree: 'AND order_key IS NULL',
  selected: ', order_key, CASE WHEN order_key IS NOT NULL THEN false END',
  returned: ', order_key',
  outbox: `outbox AS (
  INSERT INTO gleaner.order_outbox (key) SELECT DISTINCT order_key FROM added WHERE order_key IS NOT NULL),`,
}
const WITHOUT_ORDER: typeof WITH_ORDER = {
  columns: [],
  inserted: '',
  isFree: '',
  selected: '',
  returned: '',
  outbox: '',
}

async function insert(
  sql: Sql,
  { lanes, queues }: Memory,
  tasks: readonly (NewTask & Follows)[],
  clockMs: number | null,
  saying: Saying | null,
): Promise<number[]> {
  if (tasks.length === 0) return []
  const places = await lanes.placesOf(sql, tasks)
  await queues.known(sql)
  const { version } = queues
  const order = tasks.some(({ orderKey }) => orderKey !== undefined) ? WITH_ORDER : WITHOUT_ORDER
  const race = (task: NewTask) => (queues.isWeighted(task.queue) ? task.queue : null)
  const [columns, flow, suspends] = tasks[0]!.flow === undefined ? PLAIN : OF_FLOW
  const races = queues.hasWeighted ? tasks.map(race) : [null]
  const inputs = tasks.map((task) => task.input)
  const { given, values } = givenOf(inputs, [
    ...[...columns, ...order.columns].map(([name, type, of]) => columnOf(name, type, tasks, of)),
    ...placed(places),
    listed('distance', 'bigint', distancesOf(queues, tasks)),
    listed('race', 'text', races),
  ])
  const answer = await sql.row<{ first: number; ids: string | null; version: number }>(
    `WITH moment AS MATERIALIZED (SELECT coalesce($1::bigint, gleaner.now_ms()) AS now), ${RACES}, added AS (
       INSERT INTO gleaner.tasks
         (lane, line, status, in_line, delayed, priority, rank, max_attempts, created_at, input, run_after, key, active_key,
          overrides, flow ${order.inserted})
       SELECT lane, line, CASE WHEN ${suspends} THEN 'suspended' WHEN due > now THEN 'scheduled' ELSE 'queued' END,
              NOT ${suspends} AND coalesce(due <= now, true) ${order.isFree}, NOT ${suspends} AND coalesce(due > now, false), priority, CASE WHEN ${suspends} OR due > now THEN NULL ELSE distance + ${races.some((one) => one !== null) ? RACE_MOMENT : 'now'} END,
              max_attempts, now, input, due, key, active_key, overrides, ${flow}::bigint ${order.selected}
       FROM (SELECT g.*, now, coalesce(run_at, now + after_ms) AS due FROM (${given}) g, moment) given
       RETURNING id, lane, delayed, status ${order.returned}
     ), ${order.outbox} counted AS (
       INSERT INTO gleaner.tallies (lane, created, scheduled, suspended)
       SELECT lane, pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE delayed), pg_catalog.count(*) FILTER (WHERE status = 'suspended')
       FROM added GROUP BY lane
     ), told AS MATERIALIZED (SELECT pg_catalog.pg_notify($2::text, $3::text) WHERE $2::text IS NOT NULL)
     SELECT pg_catalog.min(id) AS first, CASE WHEN pg_catalog.max(id) - pg_catalog.min(id) >= pg_catalog.count(*) THEN pg_catalog.string_agg(id::text, ',' ORDER BY id) END AS ids,
            (SELECT value FROM gleaner.settings WHERE key = 'queues') AS version
     FROM added LEFT JOIN told ON true`,
    [clockMs, saying?.channel ?? null, saying?.words ?? null, ...values],
  )
  const { ids } = answer!
  // A connection of the user's own may tell large numbers as text.
  const [first, current] = [Number(answer!.first), Number(answer!.version)]
  if (current !== version) queues.outdated()
  if (tasks.some(({ limitKey }) => limitKey !== undefined)) await tellTurnstiles(sql, tasks, places)
  // Drawn in the order of the tasks; with gaps where others drew at the same time.
  return ids === null ? tasks.map((_, i) => first + i) : ids.split(',').map(Number)
}

/** Of a queue without chance, what follows from the same priority is the same. */
function distancesOf(queues: QueueCache, tasks: readonly NewTask[]): number[] {
  const [{ queue, priority }] = tasks as [NewTask]
  const isSame = (task: NewTask) => task.queue === queue && task.priority === priority
  if (!queues.hasWeighted && tasks.every(isSame)) return [queues.distance(queue, priority)]
  return tasks.map((task) => queues.distance(task.queue, task.priority))
}

/** What is delayed is news when it is due; that is told as well then. */
async function tellTurnstiles(
  sql: Sql,
  tasks: readonly NewTask[],
  places: readonly LanePlace[],
): Promise<void> {
  const slots = new Slots()
  for (const [i, { limitKey }] of tasks.entries()) if (limitKey !== undefined) slots.arrived(places[i]!.id)
  await slots.write(sql)
}

/** How far the races of weighted queues have come; read only by RACE_MOMENT. */
const RACES = `races AS MATERIALIZED (
       SELECT queue, pg_catalog.max(moment) AS moment FROM gleaner.races r
       WHERE era = (SELECT era FROM gleaner.queues WHERE name = r.queue) GROUP BY queue)`
const RACE_MOMENT = `CASE WHEN race IS NULL THEN now
  ELSE coalesce((SELECT moment FROM races WHERE races.queue = race), 0) END`

/** One value for all tasks, or one for each. */
interface Column {
  name: string
  type: string
  list: readonly Value[]
}

/** Most have one value for all: that is sent once, because an array of a thousand costs both sides. */
function columnOf<Task>(
  name: string,
  type: string,
  tasks: readonly Task[],
  of: (task: Task) => Value,
): Column {
  const first = of(tasks[0]!)
  const isSame = tasks.every((task) => of(task) === first)
  return { name, type, list: isSame ? [first] : tasks.map(of) }
}

function placed(places: readonly LanePlace[]): Column[] {
  return [
    columnOf('lane', 'int', places, ({ id }) => id),
    columnOf('line', 'int', places, ({ line }) => line),
  ]
}

function listed(name: string, type: string, list: readonly Value[]): Column {
  return columnOf(name, type, list, (value) => value)
}

function givenOf(
  inputs: readonly (string | null)[],
  columns: readonly Column[],
): { given: string; values: unknown[] } {
  const same = columns.filter(({ list }) => list.length === 1)
  const each = columns.filter(({ list }) => list.length > 1)
  const constants = same.map(({ name, type }, i) => `$${i + FIRST_COLUMN}::${type} AS ${name}`)
  const place = FIRST_COLUMN + same.length
  const texts = textList(inputs)
  const arrays = each.map(({ type }, i) => `$${i + 1 + place}::${type}[]`)
  const names = ['input', ...each.map(({ name }) => name)]
  return {
    given: `SELECT ${['e.*', ...constants].join(', ')}
       FROM ${unnest([texts.read(`$${place}`), ...arrays])} e(${names.join(', ')})`,
    values: [...same.map(({ list }) => list[0]), texts.value, ...each.map(({ list }) => list)],
  }
}
