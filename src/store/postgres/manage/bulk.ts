import { isFinished, type TaskStatus } from '../../../model/task.ts'
import type { BulkChange, BulkStep, BulkStepDone, Refusal } from '../../contract.ts'
import type { Lane } from '../../lane.ts'
import { statusOf } from '../../task-row.ts'
import type { Memory } from '../memory.ts'
import type { Newcomer } from '../order/queue-book.ts'
import type { Sql } from '../server/sql.ts'
import { holdersOf, lockKeys } from '../tasks/enqueue.ts'
import { fileFinished, unfileFinished } from '../tasks/finished.ts'
import { Tally } from '../tasks/tally.ts'
import { rowid } from '../tasks/task-records.ts'
import { scanTasks } from './list.ts'
import { removeRows } from './remove.ts'

/** What a step did that others wait for. */
export interface BulkEffect {
  answer: BulkStepDone
  ended: string[]
  requested: boolean
}

interface Row {
  id: string
  lane: number
  priority: number
  status: TaskStatus
  run_after: number | null
  finished_at: number | null
  key: string | null
  held: boolean
  asked: boolean
}

const COLUMNS = `tasks.id::text AS id, lane, priority, status, run_after, finished_at, key, fence IS NOT NULL AS held,
  cancel_requested AS asked`

/** Of the rows a step has chosen: those to be changed, and those that cannot be. */
interface Choice {
  rows: Row[]
  refused: Refusal[]
}

/** In a transaction; a dry run without one. A few statements for all tasks of the step. */
export async function changeTasks(
  sql: Sql,
  { lanes, queues }: Memory,
  among: readonly Lane[],
  step: BulkStep,
  now: number,
): Promise<BulkEffect> {
  const { change, filter, page, dryRun } = step
  const upTo = step.upTo ?? (await highestId(sql))
  const scan = await scanTasks<{ id: number; error: string | null }>(
    sql,
    queues,
    among,
    filter,
    page,
    now,
    't.id, t.error',
  )
  const ids = scan.rows.map((row) => row.id).filter((id) => id <= Number(upTo))
  const found = await readRows(sql, ids, dryRun === null ? LOCK : '')
  // It may have moved on before it was locked.
  const rows = found.filter((row) => statusOf(row, now) === filter.status)
  const choice = await chosen(sql, change, rows, dryRun)
  const answer = {
    changed: choice.rows.length,
    refused: choice.refused,
    passedOver: ids.length - found.length,
    next: scan.next,
    upTo: rowid(upTo),
  }
  if (dryRun !== null) return { answer, ended: [], requested: false }
  const ranked = change === 'retry' ? await withRanks(sql, { lanes, queues }, choice.rows, now) : []
  await CHANGES[change](sql, choice.rows, now, ranked)
  return {
    answer,
    ended: change === 'retry' ? [] : choice.rows.filter((row) => !row.held).map((row) => row.id),
    requested: change === 'cancel' && choice.rows.some((row) => row.held),
  }
}

/** A worker takes and settles its tasks in an order of its own: whoever waits for one of them might be waited for. */
const LOCK = 'FOR UPDATE SKIP LOCKED'

async function highestId(sql: Sql): Promise<string> {
  const row = await sql.row<{ id: string }>(
    'SELECT coalesce(pg_catalog.max(tasks.id), 0)::text AS id FROM gleaner.tasks',
  )
  return row!.id
}

/** In the order of these ids. */
async function readRows(sql: Sql, ids: readonly number[], lock: string): Promise<Row[]> {
  const rows = await sql.rows<Row>(
    `SELECT ${COLUMNS} FROM gleaner.tasks WHERE tasks.id = ANY($1::bigint[]) ORDER BY tasks.id ${lock}`,
    [ids],
  )
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(String(id))).filter((row) => row !== undefined)
}

async function chosen(
  sql: Sql,
  change: BulkChange,
  rows: readonly Row[],
  dryRun: BulkStep['dryRun'],
): Promise<Choice> {
  if (change === 'cancel') return { rows: rows.filter((row) => !row.asked), refused: [] }
  if (change === 'retry') return withTheirKeys(sql, rows, dryRun)
  const refused = rows
    .filter((row) => row.held)
    .map(({ id }) => ({ id, reason: 'running', by: null }) as const)
  return { rows: rows.filter((row) => !row.held), refused }
}

/** Those whose key nobody else holds; of several with one key the first. */
async function withTheirKeys(sql: Sql, rows: readonly Row[], dryRun: BulkStep['dryRun']): Promise<Choice> {
  const keys = [...new Set(rows.map((row) => row.key).filter((key) => key !== null))]
  if (keys.length > 0 && dryRun === null) await lockKeys(sql, keys)
  const holders = keys.length === 0 ? new Map<string, number>() : await holdersOf(sql, keys)
  const taken = dryRun?.taken ?? new Map<string, string>()
  const choice: Choice = { rows: [], refused: [] }
  for (const row of rows) {
    const active = row.key === null ? undefined : holders.get(row.key)
    const holder =
      active !== undefined && String(active) !== row.id ? String(active) : taken.get(row.key ?? '')
    if (holder !== undefined) {
      choice.refused.push({ id: row.id, reason: 'key-held', by: holder })
      continue
    }
    if (row.key !== null) taken.set(row.key, row.id)
    choice.rows.push(row)
  }
  return choice
}

type Change = (sql: Sql, rows: readonly Row[], now: number, ranks: readonly number[]) => Promise<void>

async function withRanks(
  sql: Sql,
  { lanes, queues }: Pick<Memory, 'lanes' | 'queues'>,
  rows: readonly Row[],
  now: number,
): Promise<number[]> {
  await queues.known(sql)
  const newcomers: Newcomer[] = []
  for (const { lane, priority } of rows) {
    newcomers.push({ queue: (await lanes.get(lane, sql)).queue, priority, queuedAtMs: now })
  }
  return queues.drawAll(sql, newcomers)
}

const CHANGES: Record<BulkChange, Change> = {
  async retry(sql, rows, _, ranks) {
    // Of an attempt that completed only the task's own row tells, which starts anew.
    await sql.run(
      `INSERT INTO gleaner.attempts (task, attempt, session, outcome, started_at, finished_at)
       SELECT tasks.id, attempts, session, status, started_at, finished_at FROM gleaner.tasks
       WHERE tasks.id = ANY($1::bigint[]) AND status = 'completed'`,
      [idsOf(rows)],
    )
    await unfileFinished(
      sql,
      rows.map((row) => ({ ...row, id: Number(row.id) })),
    )
    await sql.run(
      `UPDATE gleaner.tasks SET status = 'queued', in_line = true, active_key = key, rank = given.rank, run_after = NULL, attempts = 0, crashes = 0,
         suspect = crashes > 0, result = NULL, error = NULL, progress = NULL, progress_message = NULL,
         started_at = NULL, finished_at = NULL
       FROM unnest($1::bigint[], $2::bigint[]) given(id, rank) WHERE tasks.id = given.id`,
      [idsOf(rows), ranks],
    )
    await count(sql, rows, (tally, { lane, status }) => {
      if (isFinished(status)) tally.add(lane, status, -1)
      tally.slots.arrived(lane)
    })
  },

  async cancel(sql, rows, now) {
    const held = rows.filter((row) => row.held)
    const waiting = rows.filter((row) => !row.held)
    for (const [lane, ended] of Map.groupBy(waiting, (row) => row.lane)) {
      await fileFinished(sql, lane, 'cancelled', now, idsOf(ended))
    }
    await sql.run('UPDATE gleaner.tasks SET cancel_requested = true WHERE id = ANY($1::bigint[])', [
      idsOf(held),
    ])
    await sql.run(
      `UPDATE gleaner.tasks SET status = 'cancelled', in_line = false, delayed = false, active_key = NULL, finished_at = $2
       WHERE id = ANY($1::bigint[])`,
      [idsOf(waiting), now],
    )
    await count(sql, waiting, (tally, { lane, status }) => {
      tally.add(lane, 'cancelled', 1)
      if (status === 'scheduled') tally.add(lane, 'scheduled', -1)
    })
  },

  async remove(sql, rows) {
    await removeRows(
      sql,
      rows.map((row) => Number(row.id)),
    )
    await sql.run('DELETE FROM gleaner.forever_keys WHERE task = ANY($1::bigint[])', [idsOf(rows)])
  },
}

function idsOf(rows: readonly Row[]): string[] {
  return rows.map((row) => row.id)
}

async function count(sql: Sql, rows: readonly Row[], add: (tally: Tally, row: Row) => void): Promise<void> {
  const tally = new Tally()
  for (const row of rows) add(tally, row)
  await tally.write(sql)
  await tally.slots.write(sql)
}
