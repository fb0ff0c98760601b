import type { SqliteDatabase } from '../store/sqlite/drivers/driver.ts'
import type { SqliteConnection } from './test-gleaner.ts'

/** better-sqlite3 has `transaction`, the library of Node has none: a test finds it on both. */
export function withTransactions(db: SqliteDatabase): SqliteConnection {
  if ('transaction' in db) return db as unknown as SqliteConnection
  const transaction = (work: (...args: unknown[]) => unknown) =>
    Object.assign(inTransaction(db, 'BEGIN', work), { immediate: inTransaction(db, 'BEGIN IMMEDIATE', work) })
  return Object.assign(db, { transaction }) as unknown as SqliteConnection
}

/** A transaction inside another one is a savepoint, as in better-sqlite3. */
function inTransaction(db: SqliteDatabase, begin: string, work: (...args: unknown[]) => unknown) {
  return (...args: unknown[]): unknown => {
    const [first, commit, undo] = db.inTransaction
      ? ['SAVEPOINT inner_work', 'RELEASE inner_work', 'ROLLBACK TO inner_work; RELEASE inner_work']
      : [begin, 'COMMIT', 'ROLLBACK']
    db.exec(first)
    try {
      const value = work(...args)
      db.exec(commit)
      return value
    } catch (error) {
      if (db.inTransaction) db.exec(undo)
      throw error
    }
  }
}
