import { giveBackDamaged } from '../../../model/outcome.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../tasks/memory.ts'
import { Tally } from '../tasks/tally.ts'
import { applyAll, heldOutOfReach } from '../tasks/transition.ts'

/** In a write transaction: tasks stand in the line of their lane again. */
export function moveToTheirLines(db: Statements): void {
  db.sql(`UPDATE gleaner_tasks SET line = l.line FROM gleaner_lanes l
          WHERE l.id = gleaner_tasks.lane AND finished_at IS NULL AND gleaner_tasks.line IS NOT l.line`).run()
}

/** In a write transaction: what is held, but the end of no live session would find, waits again. */
export function giveBackUnreachable(db: Statements, memory: Memory, now: number): void {
  const tally = new Tally()
  const decided = heldOutOfReach(db).map((task) => ({ task, transition: giveBackDamaged(task) }))
  applyAll(db, memory, decided, now, tally)
  tally.free(db.scalar('SELECT DISTINCT order_key FROM gleaner_tasks WHERE leads = 0').all() as string[])
  tally.write(db)
}
