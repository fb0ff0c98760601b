import { realpathSync } from 'node:fs'
import { InputError } from '../../../errors.ts'
import type { Enqueued, NewTask, Within } from '../../ports/new-task.ts'
import { insertAfter } from '../../scripts/flows/make.ts'
import { deliverSignal } from '../../scripts/signals.ts'
import { native } from '../../sql/script.ts'
import { isLikeBetterSqlite3, isNodeSqlite } from '../drivers/adopt.ts'
import type { SqliteDatabase, SqliteDriver } from '../drivers/driver.ts'
import { nameOf } from '../drivers/load.ts'
import { nativeLibraries, twoSqlites } from '../drivers/second-library.ts'
import { driveOn, sqliteDialect } from '../file/scripts.ts'
import { Statements } from '../file/statements.ts'
import { type Intended, insertTasks, sqliteKeyHolders } from './enqueue.ts'
import { laneFor } from './lanes.ts'
import { QueueCache } from './queue-cache.ts'
import { sqliteResuming } from './resuming.ts'

/** A user's connections, each with what was prepared on it; forgotten with the connection. */
const known = new WeakMap<object, Place>()

interface Place {
  db: Statements
  intended: Intended
}

export interface OurDatabase {
  path: string
  driver: SqliteDriver
  /** Connections to it that are the store's own: of a database in memory there are no others. */
  connections: WeakSet<object>
  random: () => number
  /** In a transaction of the user's own, which is not over yet. */
  onEnqueued: (transaction: SqliteDatabase) => void
}

/** Whether something was enqueued within it. */
export function hasEnqueued(transaction: object): boolean {
  return known.has(transaction)
}

/** Enqueues on a user's own connection, inside its transaction: both commit, or neither. */
export function withinTransaction(transaction: unknown, ours: OurDatabase, now: () => number): Within {
  const raw = connectionOf(transaction, ours)
  return {
    synchronous: true,
    enqueue(tasks: readonly NewTask[]): Enqueued[] {
      requireTransaction(raw, ours)
      const place = placeOf(raw, ours)
      const enqueued =
        tasks[0]?.after !== undefined
          ? insertAfterOn(place, tasks, now)
          : insertTasks(place.db, tasks, now(), place.intended)
      // What completes an item tells by itself.
      if (!ours.connections.has(raw)) ours.onEnqueued(raw)
      return enqueued
    },
    signal(signal) {
      requireTransaction(raw, ours)
      const place = placeOf(raw, ours)
      const answer = driveOn(
        place.db,
        deliverSignal(sqliteDialect(now), sqliteResuming(place.intended), signal),
      )
      if (answer === 'resumes' && !ours.connections.has(raw)) ours.onEnqueued(raw)
      return answer
    },
  }
}

function placeOf(raw: SqliteDatabase, ours: OurDatabase): Place {
  const place = known.get(raw) ?? placeOn(raw, ours)
  known.set(raw, place)
  return place
}

function insertAfterOn({ db, intended }: Place, tasks: readonly NewTask[], now: () => number): Enqueued[] {
  const insert = (some: readonly NewTask[]) => native(() => insertTasks(db, some, now(), intended))
  const keyHolders = sqliteKeyHolders
  return driveOn(db, insertAfter({ db: sqliteDialect(now), insert, keyHolders }, tasks))
}

function placeOn(raw: SqliteDatabase, { driver, random }: OurDatabase): Place {
  const db = new Statements(raw, driver)
  const placeOf = (task: NewTask) => laneFor(db, task)
  return { db, intended: { placeOf, queues: new QueueCache(db, random) } }
}

function connectionOf(transaction: unknown, ours: OurDatabase): SqliteDatabase {
  if (ours.connections.has(transaction as object)) return transaction as SqliteDatabase
  const raw = ours.driver.adopt(transaction) ?? adoptCopy(transaction, ours)
  if (raw !== null) return raw
  throw new InputError('within: this is not a SQLite connection', {
    code: 'BAD_OPTION',
    hint: 'Pass the connection (new Database(file)) whose transaction you are in.',
  })
}

/** A module that was loaded twice (by a test runner, say) stands on the same library; another library is refused. */
function adoptCopy(transaction: unknown, { driver, path }: OurDatabase): SqliteDatabase | null {
  const isLike = isLikeBetterSqlite3(transaction)
  if (!isLike && !isNodeSqlite(transaction)) return null
  const isOnlyOne = (nativeLibraries()?.length ?? 1) === 1
  if (isLike && driver.library !== 'node:sqlite' && isOnlyOne) return transaction as SqliteDatabase
  throw twoSqlites(path, `the connection given to within is not of ${nameOf(driver.library)}`)
}

function requireTransaction(raw: SqliteDatabase, ours: OurDatabase): void {
  if (!raw.inTransaction) {
    throw new InputError('within: the connection is not in a transaction', {
      code: 'NOT_IN_TRANSACTION',
      hint: 'Call it inside db.transaction(() => { … }).immediate(), or use gleaner.enqueue.',
    })
  }
  if (!ours.connections.has(raw) && !isSameFile(raw.name, ours.path)) {
    throw new InputError(`within: the connection is to another file (${raw.name})`, {
      code: 'STORE_OTHER',
      hint: `Gleaner's tables are in ${ours.path}; one transaction cannot span both.`,
    })
  }
}

/** A database in memory has no file, and is nobody else's. */
function isSameFile(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b)
  } catch {
    return false
  }
}
