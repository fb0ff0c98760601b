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
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import type { Statements } from '../file/statements.ts'
import type { Memory } from './memory.ts'
import type { Tally } from './tally.ts'

/** The task, if this session holds it under this fence. */
export function heldBy(db: Statements, session: number, id: number, fence: number): HeldTask | null {
  const row = db
    .sql(`SELECT ${HELD_TASK} FROM gleaner_tasks WHERE id = ? AND fence = ? AND session = ?`)
    .get(id, fence, session) as HeldTaskRow | undefined
  return row === undefined ? null : heldTask(row)
}

export function allHeldBy(db: Statements, session: number): HeldTask[] {
  const rows = db.sql(`SELECT ${HELD_TASK} FROM gleaner_held WHERE session = ?`).all(session) as HeldTaskRow[]
  return rows.map(heldTask)
}

/** Reads the whole table: it is for `check`. */
export function heldOutOfReach(db: Statements): HeldTask[] {
  const rows = db
    .sql(`SELECT ${HELD_TASK} FROM gleaner_tasks WHERE fence IS NOT NULL AND (
            id NOT IN (SELECT id FROM gleaner_held)
            OR session NOT IN (SELECT id FROM gleaner_sessions WHERE ended_at IS NULL))`)
    .all() as HeldTaskRow[]
  return rows.map(heldTask)
}

/** Transitions get the time as an argument. */
const DIALECT = sqliteDialect(() => Number.NaN)

/** Inside a write transaction: executes what the model decided for held tasks, and frees them. True: one was to be suspended, and is queued. */
export function applyAll(
  db: Statements,
  memory: Memory,
  decided: readonly Decided[],
  now: number,
  tally: Tally,
): boolean {
  return driveOn(db, applyTransitions(DIALECT, freeingTasks(memory, tally), decided, now))
}

function freeingTasks({ lanes, queues }: Memory, tally: Tally): FreeingTasks {
  return {
    rank: ({ lane, priority }, now) =>
      native(() => {
        queues.knowing()
        return queues.draw(lanes.get(lane).queue, priority, now)
      }),
    // Differs because an index of SQLite has the finished tasks in their order.
    listAsFinished: () => native(() => undefined),
    countFreed: ({ fence, lane }) => tally.settled(fence, lane, 1),
    countArrived: (lane) => tally.arrived(lane),
    countLed: ({ rowid, orderKey }) => orderKey !== null && tally.led(rowid, orderKey),
    count: (lane, counter) => tally.add(lane, counter, 1),
  }
}
