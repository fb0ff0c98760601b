import { decide } from '../../../model/outcome.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from '../memory.ts'
import { Tally } from '../tasks/tally.ts'
import { apply, heldOutOfReach } from '../tasks/transition.ts'

/** In a write transaction: tasks stand in the line of their lane again. */
export function moveToTheirLines(db: Statements): void {
  db.sql(`UPDATE gleaner_tasks SET line = l.line FROM gleaner_lanes l
          WHERE l.id = gleaner_tasks.lane AND finished_at IS NULL AND gleaner_tasks.line IS NOT l.line`).run()
}

/** In a write transaction: what is held, but the end of no live session would find, waits again. */
export function giveBackUnreachable(db: Statements, memory: Memory, now: number): void {
  const tally = new Tally()
  for (const task of heldOutOfReach(db)) {
    // A damaged row may say that no attempt was ever made.
    const attempts = Math.max(task.attempts, 1)
    const transition = decide({ ...task, attempts, started: false }, { kind: 'returned' })
    apply(db, memory, task, transition, now, tally)
  }
  tally.write(db)
}
