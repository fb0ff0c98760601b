import type { Statements } from '../file/statements.ts'

export function readWaits(db: Statements): Map<string, number> {
  const rows = db.sql('SELECT discovery, since FROM gleaner_row_waits').all() as {
    discovery: string
    since: number
  }[]
  return new Map(rows.map(({ discovery, since }) => [discovery, since]))
}

/** Inside a write transaction. */
export function noteWaits(db: Statements, waiting: readonly string[], now: number): Map<string, number> {
  db.sql('DELETE FROM gleaner_row_waits WHERE discovery NOT IN (SELECT value FROM json_each(?))').run(
    JSON.stringify(waiting),
  )
  for (const discovery of waiting)
    db.sql('INSERT INTO gleaner_row_waits VALUES (?, ?) ON CONFLICT DO NOTHING').run(discovery, now)
  return readWaits(db)
}
