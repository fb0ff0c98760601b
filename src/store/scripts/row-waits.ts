import type { Dialect } from '../sql/dialect.ts'
import { change, rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'

/** Since when rows of a discovery wait. */
export function* readWaits(): Script<Map<string, number>> {
  const waits = yield* rows<{ discovery: string; since: number }>(
    sql`SELECT discovery, since FROM gleaner.row_waits`,
  )
  return new Map(waits.map(({ discovery, since }) => [discovery, since]))
}

export function* noteWaits(db: Dialect, waiting: readonly string[]): Script<Map<string, number>> {
  yield* change(sql`DELETE FROM gleaner.row_waits WHERE NOT discovery ${db.oneOf(waiting)}`)
  for (const discovery of [...waiting].sort())
    yield* change(
      sql`INSERT INTO gleaner.row_waits (discovery, since) VALUES (${discovery}, ${db.now}) ON CONFLICT DO NOTHING`,
    )
  return yield* readWaits()
}
