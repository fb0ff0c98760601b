import type { Wait } from '../../model/wait.ts'
import type { Dialect } from '../sql/dialect.ts'
import { change, one, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'

/**
 * In a transaction that has locked the item, or holds its claim: the oldest signal of this name becomes the result of the step that waits. A run
 * may ask for several of one name at the same time: each signal is taken once.
 */
export function* takeSignal(
  db: Dialect,
  item: string,
  { name, number }: Pick<Wait, 'name' | 'number'>,
  now: number,
): Script<boolean> {
  const signal = yield* one<{ payload: string | null }>(sql`
    DELETE FROM gleaner.signals WHERE id = (
      SELECT id FROM gleaner.signals WHERE item = ${item} AND name = ${name} ORDER BY id LIMIT 1
      ${db.forUpdate} ${db.skipLocked})
    RETURNING payload`)
  if (signal === undefined) return false
  yield* change(sql`
    INSERT INTO gleaner.steps (item, name, number, kind, value, attempt, started_at, kept_at)
    VALUES (${item}, ${name}, ${number}, 'signal', ${signal.payload}, 0, ${now}, ${now})
    ON CONFLICT (item, name, number) DO UPDATE SET kind = excluded.kind, value = excluded.value, kept_at = excluded.kept_at`)
  return true
}
