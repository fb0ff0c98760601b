import { type Measured, MINUTE_MS } from '../../../model/metrics.ts'
import { addedUp, type MinuteRow } from '../../metrics-row.ts'
import { noteUnfinished } from '../../scripts/levels.ts'
import type { Dialect } from '../../sql/dialect.ts'
import type { Database } from '../server/database.ts'
import { driveOn } from '../server/scripts.ts'
import type { Sql } from '../server/sql.ts'
import { foldOutbox } from './folding.ts'

/** What came is only added as rows: processes that write the same minute would wait for each other. One of them folds these rows. */
export async function addMetrics(
  database: Database,
  dialect: Dialect,
  measured: readonly Measured[],
  clockMs: number | null,
): Promise<void> {
  await database.together(
    (sql) =>
      Promise.all([
        insertNews(sql, measured, clockMs),
        foldOutbox(sql, clockMs),
        // Last, because each process writes this row.
        ...noteUnfinished(dialect).map((script) => driveOn(sql, script)),
      ]),
    { durable: false },
  )
}

const COLUMNS = 'queue, name, enqueued, completed, failed, retried, durations, incidents'

async function insertNews(sql: Sql, measured: readonly Measured[], clockMs: number | null): Promise<void> {
  if (measured.length === 0) return
  const rows = measured.map((one) => addedUp(undefined, one, 0))
  const of = (column: keyof MinuteRow) => rows.map((row) => row[column])
  await sql.run(
    `INSERT INTO gleaner.minute_news (minute, ${COLUMNS})
     SELECT (SELECT now - now % ${MINUTE_MS} FROM (SELECT coalesce($1::bigint, gleaner.now_ms()) AS now) t), ${COLUMNS}
     FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[]) m(${COLUMNS})`,
    [
      clockMs,
      ...[of('queue'), of('name'), of('enqueued'), of('completed'), of('failed'), of('retried')],
      ...[of('durations'), of('incidents')],
    ],
  )
}
