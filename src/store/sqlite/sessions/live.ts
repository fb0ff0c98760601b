import type { Statements } from '../file/statements.ts'

export function isLive(db: Statements, session: number): boolean {
  return db.sql('SELECT 1 FROM gleaner_sessions WHERE id = ? AND ended_at IS NULL').get(session) !== undefined
}

/** It finished something: whatever it crashes on later, it does not crash on everything. */
export function markUseful(db: Statements, session: number): void {
  db.sql('UPDATE gleaner_sessions SET completed = 1 WHERE id = ? AND completed = 0').run(session)
}
