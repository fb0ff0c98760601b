import type { StoredReport, WorkerReportStore } from '../ports/worker-reports.ts'
import { change, rows } from '../sql/script.ts'
import type { Scripts } from '../sql/scripts.ts'
import { sql } from '../sql/sql.ts'

const LISTED_MAX = 10_000

export function workerReportScripts({ read, writeCheaply }: Scripts): WorkerReportStore {
  return {
    reportWorkers: (reports) =>
      writeCheaply(function* () {
        for (const { session, report } of reports)
          yield* change(sql`
            INSERT INTO gleaner.worker_reports (session, report) VALUES (${Number(session)}, ${report})
            ON CONFLICT (session) DO UPDATE SET report = excluded.report`)
        yield* change(sql`
          DELETE FROM gleaner.worker_reports WHERE session IN (
            SELECT r.session FROM gleaner.worker_reports r JOIN gleaner.sessions s ON s.id = r.session
            WHERE s.ended_at IS NOT NULL ORDER BY r.session)`)
      }),
    workerReports: () =>
      read(function* () {
        const found = yield* rows<{ session: number; report: string }>(
          sql`SELECT session, report FROM gleaner.worker_reports ORDER BY session LIMIT ${LISTED_MAX}`,
        )
        return found.map(({ session, report }): StoredReport => ({ session: String(session), report }))
      }),
  }
}
