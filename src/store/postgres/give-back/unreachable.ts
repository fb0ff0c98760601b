import { giveBackDamaged } from '../../../model/outcome.ts'
import type { Database } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'
import type { Memory } from '../tasks/memory.ts'
import { Tally } from '../tasks/tally.ts'
import { applyAll, heldUnder } from '../tasks/transition.ts'

/** Tasks that one transaction gives back. */
const STEP = 500
const STEPS_MAX = 10_000

/** Held, but the end of no live session would find it. */
const UNREACHABLE = `SELECT id, fence FROM gleaner.tasks t WHERE fence IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM gleaner.batches b JOIN gleaner.sessions s ON s.id = b.session AND s.ended_at IS NULL
  WHERE b.fence = t.fence AND b.session = t.session AND t.id = ANY(b.tasks)) LIMIT ${STEP}`

/**
 * Tasks stand in the line of their lane again, too. Reads the whole table, so it is for `check` and for the time after a crash of the
 * server. Answers how many it gave back.
 */
export async function giveBackUnreachable(
  database: Database,
  memory: Memory,
  clockMs: number | null,
): Promise<number> {
  let count = 0
  for (let step = 0; step < STEPS_MAX; step++) {
    const found = await database.unhurried.rows<{ id: string; fence: number }>(UNREACHABLE)
    if (found.length === 0) break
    count += await database.transaction((sql) => giveBack(sql, memory, found, clockMs))
  }
  await database.unhurried.run(
    `UPDATE gleaner.tasks SET line = l.line FROM gleaner.lanes l
     WHERE l.id = tasks.lane AND finished_at IS NULL AND tasks.line IS DISTINCT FROM l.line`,
  )
  await database.unhurried.run(
    'INSERT INTO gleaner.order_outbox (key) SELECT DISTINCT order_key FROM gleaner.tasks WHERE NOT leads',
  )
  await database.sql.run(
    'DELETE FROM gleaner.batches b USING gleaner.sessions s WHERE s.id = b.session AND s.ended_at IS NOT NULL',
  )
  return count
}

async function giveBack(
  sql: Sql,
  memory: Memory,
  found: readonly { id: string; fence: number }[],
  clockMs: number | null,
): Promise<number> {
  const held = await heldUnder(sql, found)
  const now = clockMs ?? (await sql.row<{ now: number }>('SELECT gleaner.now_ms() AS now'))!.now
  const tally = new Tally()
  const decided = held.map((task) => ({ task, transition: giveBackDamaged(task) }))
  await applyAll(sql, memory, decided, now, tally)
  await tally.write(sql)
  await tally.slots.write(sql)
  return held.length
}
