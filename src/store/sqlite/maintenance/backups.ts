import type { BackupRecord } from '../../ports/maintenance.ts'
import type { Statements } from '../file/statements.ts'

/** Who makes one every hour sees the last days. */
const KEPT_MAX = 100
const SHOWN_MAX = 10

/** Inside a write transaction. */
export function noteBackup(db: Statements, { path, startedAt, tookMs, bytes, error }: BackupRecord): void {
  const { lastInsertRowid } = db
    .sql('INSERT INTO gleaner_backups (path, started_at, took_ms, bytes, error) VALUES (?, ?, ?, ?, ?)')
    .run(path, startedAt, Math.round(tookMs), bytes, error)
  db.sql('DELETE FROM gleaner_backups WHERE id <= ?').run(Number(lastInsertRowid) - KEPT_MAX)
}

export function readBackups(db: Statements): BackupRecord[] {
  return db
    .sql(`SELECT path, started_at AS startedAt, took_ms AS tookMs, bytes, error
          FROM gleaner_backups ORDER BY id DESC LIMIT ${SHOWN_MAX}`)
    .all() as BackupRecord[]
}
