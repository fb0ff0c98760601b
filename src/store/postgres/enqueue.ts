import { PRIORITY_STEP } from '../../model/rank.ts'
import type { Enqueued, NewTask } from '../contract.ts'
import { storedKey } from '../task-row.ts'
import type { LaneBook } from './lanes.ts'
import type { Sql } from './sql.ts'

/** In a transaction, ours or a user's own. `clockMs`: null for the server's. */
export async function insertTasks(
  sql: Sql,
  lanes: LaneBook,
  tasks: readonly NewTask[],
  clockMs: number | null,
): Promise<Enqueued[]> {
  const answers: (Enqueued | undefined)[] = new Array(tasks.length)
  const keyed = tasks.some((task) => task.key !== null)
  const fresh = keyed ? await withoutHolder(sql, tasks, answers) : tasks.map((_, position) => position)
  const ids = await insert(
    sql,
    lanes,
    fresh.map((position) => tasks[position]!),
    clockMs,
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
  const keys = [...new Set(tasks.map(storedKey).filter((key) => key !== null))].sort()
  await sql.run(
    `SELECT pg_advisory_xact_lock(hashtextextended(key, 7)) FROM (SELECT unnest($1::text[]) AS key ORDER BY 1) k`,
    [keys],
  )
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
     SELECT key, id FROM gleaner.tasks WHERE key = ANY($1) AND status IN ('scheduled', 'queued', 'running')`,
    [keys],
  )
  return new Map(rows.map(({ key, id }) => [key, id]))
}

async function insert(
  sql: Sql,
  lanes: LaneBook,
  tasks: readonly NewTask[],
  clockMs: number | null,
): Promise<number[]> {
  if (tasks.length === 0) return []
  const laneIds: number[] = []
  for (const task of tasks) laneIds.push(await lanes.idOf(task.queue, task.name, task.requires))
  const rows = await sql.rows<{ id: number }>(
    `WITH moment AS MATERIALIZED (SELECT coalesce($1::bigint, gleaner.now_ms()) AS now),
     given AS MATERIALIZED (
       SELECT nextval(pg_get_serial_sequence('gleaner.tasks', 'id')) AS id, g.*, now,
              coalesce(run_at, now + after_ms) AS due
       FROM unnest($2::int[], $3::int[], $4::int[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[])
         WITH ORDINALITY AS g(lane, priority, max_attempts, input, key, overrides, after_ms, run_at, position), moment
     ), added AS (
       INSERT INTO gleaner.tasks
         (id, lane, status, priority, rank, max_attempts, created_at, input, run_after, key, overrides)
       SELECT id, lane, CASE WHEN due > now THEN 'scheduled' ELSE 'queued' END, priority,
              CASE WHEN due > now THEN NULL ELSE priority * ${PRIORITY_STEP} + now END, max_attempts, now, input, due,
              key, overrides
       FROM given ORDER BY position
     ), counted AS (
       INSERT INTO gleaner.tallies (lane, created, scheduled)
       SELECT lane, count(*), count(*) FILTER (WHERE due > now) FROM given GROUP BY lane
     )
     SELECT id FROM given ORDER BY position`,
    [
      clockMs,
      laneIds,
      tasks.map((task) => task.priority),
      tasks.map((task) => task.maxAttempts),
      tasks.map((task) => task.input),
      tasks.map(storedKey),
      tasks.map((task) => (task.overrides === null ? null : JSON.stringify(task.overrides))),
      tasks.map(({ runAfter }) => (runAfter !== null && 'ms' in runAfter ? runAfter.ms : null)),
      tasks.map(({ runAfter }) => (runAfter !== null && 'at' in runAfter ? runAfter.at : null)),
    ],
  )
  return rows.map((row) => row.id)
}
