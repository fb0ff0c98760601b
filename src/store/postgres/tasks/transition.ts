import {
  applyTransitions,
  type Decided,
  type FreeingTasks,
  HELD_TASK,
  type HeldTask,
  type HeldTaskRow,
  heldTask,
} from '../../scripts/transitions.ts'
import { native } from '../../sql/script.ts'
import { driveOn, postgresDialect } from '../server/scripts.ts'
import { numberList, type Sql } from '../server/sql.ts'
import { fileFinished } from './finished.ts'
import type { Memory } from './memory.ts'
import { rowid } from './rowid.ts'
import type { Tally } from './tally.ts'

/** By id, those of the tasks that this session holds; locked until the end of the transaction. */
export async function heldAmong(
  sql: Sql,
  session: string,
  ids: readonly string[],
): Promise<Map<string, HeldTask>> {
  if (ids.length === 0) return new Map()
  const rows = await sql.rows<HeldTaskRow>(
    `SELECT ${HELD_TASK} FROM gleaner.tasks WHERE id = ANY($1::bigint[]) AND session = $2 ORDER BY tasks.id FOR UPDATE`,
    [numberList(ids.map(rowid)), session],
  )
  return new Map(rows.map((row) => [String(row.id), heldTask(row)]))
}

export async function allHeldBy(sql: Sql, sessions: readonly (string | number)[]): Promise<HeldTask[]> {
  const rows = await sql.rows<HeldTaskRow>(
    `SELECT ${HELD_TASK} FROM gleaner.tasks
     WHERE id = ANY(ARRAY(SELECT pg_catalog.unnest(tasks) FROM gleaner.batches WHERE session = ANY($1::bigint[])))
       AND session = ANY($1::bigint[]) AND fence IS NOT NULL
     ORDER BY tasks.id FOR UPDATE`,
    [sessions],
  )
  return rows.map(heldTask)
}

/** Those that are held under these fences, by whatever session. */
export async function heldUnder(
  sql: Sql,
  proofs: readonly { id: string; fence: number }[],
): Promise<HeldTask[]> {
  const rows = await sql.rows<HeldTaskRow>(
    `SELECT ${HELD_TASK} FROM gleaner.tasks
     WHERE (id, fence) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[])) ORDER BY tasks.id FOR UPDATE`,
    [numberList(proofs.map(({ id }) => id)), numberList(proofs.map(({ fence }) => fence))],
  )
  return rows.map(heldTask)
}

/** Transitions get the time as an argument. */
const DIALECT = postgresDialect(() => Number.NaN)

/** In a transaction: executes what the model decided for held tasks, and frees them. True: one was to be suspended, and is queued. */
export async function applyAll(
  sql: Sql,
  memory: Memory,
  decided: readonly Decided[],
  now: number,
  tally: Tally,
): Promise<boolean> {
  return driveOn(sql, applyTransitions(DIALECT, freeingTasks(memory, tally), decided, now))
}

function freeingTasks({ lanes, queues }: Memory, tally: Tally): FreeingTasks {
  return {
    rank: ({ lane, priority }, now) =>
      native(async (sql: Sql) => {
        const { queue } = await lanes.get(lane, sql)
        return queues.draw(sql, { queue, priority, queuedAtMs: now })
      }),
    listAsFinished: ({ lane, id }, status, finishedAt) =>
      native((sql: Sql) => fileFinished(sql, { lane, status, finishedAt }, [id])),
    countFreed: ({ lane }) => tally.slots.freed(lane, 1),
    countArrived: (lane) => tally.slots.arrived(lane),
    countLed: ({ orderKey }) => orderKey !== null && tally.led(orderKey),
    count: (lane, counter) => tally.add(lane, counter, 1),
  }
}
