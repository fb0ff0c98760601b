import type { Enqueued, NewTask } from '../contract.ts'
import { type Follows, followerKey, withoutMark } from '../follower.ts'
import { storedKey } from '../task-row.ts'
import { Slots } from './gates.ts'
import { insertWithWishes } from './held-key.ts'
import type { Memory } from './memory.ts'
import type { Sql } from './sql.ts'
import type { Saying } from './wakeups.ts'

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
    return insertWithWishes(sql, tasks, clockMs, {
      withoutWish: (some) => insertTasks(sql, memory, some, clockMs, saying),
      asTheyAre: (some) => insert(sql, memory, some, clockMs, saying),
    })
  }
  const answers: (Enqueued | undefined)[] = new Array(tasks.length)
  const keyed = tasks.some((task) => task.key !== null)
  const fresh = keyed ? await withoutHolder(sql, tasks, answers) : tasks.map((_, position) => position)
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
  if (keyed) await answerTwins(sql, tasks, fresh, ids, answers)
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
    `SELECT pg_advisory_xact_lock(hashtextextended(key, 7)) FROM (SELECT unnest($1::text[]) AS key ORDER BY 1) k`,
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

/** The columns of a new task as the statement gets them. */
const COLUMNS: readonly [
  name: string,
  type: string,
  of: (task: NewTask & Follows) => string | number | null,
][] = [
  ['input', 'text', (task) => task.input],
  ['priority', 'int', (task) => task.priority],
  ['max_attempts', 'int', (task) => task.maxAttempts],
  ['key', 'text', storedKey],
  ['active_key', 'text', (task) => (task.follows ? followerKey(storedKey(task)!) : storedKey(task))],
  ['overrides', 'text', (task) => (task.overrides === null ? null : JSON.stringify(task.overrides))],
  ['after_ms', 'bigint', ({ runAfter }) => (runAfter !== null && 'ms' in runAfter ? runAfter.ms : null)],
  ['run_at', 'bigint', ({ runAfter }) => (runAfter !== null && 'at' in runAfter ? runAfter.at : null)],
]

async function insert(
  sql: Sql,
  { lanes, queues }: Memory,
  tasks: readonly (NewTask & Follows)[],
  clockMs: number | null,
  saying: Saying | null,
): Promise<number[]> {
  if (tasks.length === 0) return []
  const laneIds = await lanes.idsOf(sql, tasks)
  await queues.known(sql)
  const { version } = queues
  const race = (task: NewTask) => (queues.isWeighted(task.queue) ? task.queue : null)
  const columns = [
    ...COLUMNS.map(([name, type, of]) => ({ name, type, list: tasks.map(of) as unknown[] })),
    { name: 'lane', type: 'int', list: laneIds },
    { name: 'distance', type: 'bigint', list: tasks.map((t) => queues.distance(t.queue, t.priority)) },
    { name: 'race', type: 'text', list: tasks.map(race) },
  ]
  const { given, values } = givenOf(columns)
  const answer = await sql.row<{ first: number; ids: string | null; version: number }>(
    `WITH moment AS MATERIALIZED (SELECT coalesce($1::bigint, gleaner.now_ms()) AS now),
     given AS MATERIALIZED (
       SELECT nextval('gleaner.tasks_id_seq') AS id, g.*, now, coalesce(run_at, now + after_ms) AS due
       FROM (${given}) g, moment
     ), ${RACES}, added AS (
       INSERT INTO gleaner.tasks
         (id, lane, status, in_line, delayed, priority, rank, max_attempts, created_at, input, run_after, key,
          active_key, overrides)
       SELECT id, lane, CASE WHEN due > now THEN 'scheduled' ELSE 'queued' END, coalesce(due <= now, true),
              coalesce(due > now, false), priority,
              CASE WHEN due > now THEN NULL ELSE distance + ${tasks.some(race) ? RACE_MOMENT : 'now'} END, max_attempts,
              now, input, due, key, active_key, overrides
       FROM given
     ), counted AS (
       INSERT INTO gleaner.tallies (lane, created, scheduled)
       SELECT lane, count(*), count(*) FILTER (WHERE due > now) FROM given GROUP BY lane
     ), told AS MATERIALIZED (SELECT pg_notify($2::text, $3::text) WHERE $2::text IS NOT NULL)
     SELECT min(id) AS first, CASE WHEN max(id) - min(id) >= count(*) THEN string_agg(id::text, ',' ORDER BY position) END AS ids,
            (SELECT value FROM gleaner.settings WHERE key = 'queues') AS version
     FROM given LEFT JOIN told ON true`,
    [clockMs, saying?.channel ?? null, saying?.words ?? null, ...values],
  )
  // A connection of the user's own may tell large numbers as text.
  const [first, current] = [Number(answer!.first), Number(answer!.version)]
  const { ids } = answer!
  if (current !== version) queues.outdated()
  await tellTurnstiles(sql, tasks, laneIds)
  // Drawn in the order of the tasks; with gaps where others drew at the same time.
  return ids === null ? tasks.map((_, i) => first + i) : ids.split(',').map(Number)
}

/** What is delayed is news when it is due; that is told as well then. */
async function tellTurnstiles(
  sql: Sql,
  tasks: readonly NewTask[],
  laneIds: readonly number[],
): Promise<void> {
  const slots = new Slots()
  for (const [i, { limitKey }] of tasks.entries()) if (limitKey !== undefined) slots.arrived(laneIds[i]!)
  await slots.write(sql)
}

/** How far the races of weighted queues have come; read only by RACE_MOMENT. */
const RACES = `races AS MATERIALIZED (
       SELECT queue, max(moment) AS moment FROM gleaner.races r
       WHERE era = (SELECT era FROM gleaner.queues WHERE name = r.queue) GROUP BY queue)`
const RACE_MOMENT = `CASE WHEN race IS NULL THEN now
  ELSE coalesce((SELECT moment FROM races WHERE races.queue = race), 0) END`

interface Column {
  name: string
  type: string
  list: unknown[]
}

/** A column that has one value for all tasks is sent once: most are, and an array of a thousand costs both sides. */
function givenOf(columns: readonly Column[]): { given: string; values: unknown[] } {
  const isSame = ({ name, list }: Column) => name !== 'input' && list.every((value) => value === list[0])
  const same = columns.filter(isSame)
  const each = columns.filter((column) => !isSame(column))
  const constants = same.map(({ name, type }, i) => `$${i + FIRST_COLUMN}::${type} AS ${name}`)
  const arrays = each.map(({ type }, i) => `$${i + FIRST_COLUMN + same.length}::${type}[]`)
  const names = [...each.map(({ name }) => name), 'position']
  return {
    given: `SELECT ${['e.*', ...constants].join(', ')} FROM unnest(${arrays.join(', ')}) WITH ORDINALITY e(${names.join(', ')})`,
    values: [...same.map(({ list }) => list[0]), ...each.map(({ list }) => list)],
  }
}
