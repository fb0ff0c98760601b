import { realpathSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { InputError } from '../../../errors.ts'
import type { Enqueued, NewTask, Within } from '../../contract.ts'
import { Statements } from '../file/statements.ts'
import { QueueBook } from '../order/queue-book.ts'
import { type Intended, insertTasks } from './enqueue.ts'
import { laneId } from './lanes.ts'

/** A user's connections, each with what was prepared on it; forgotten with the connection. */
const known = new WeakMap<object, { db: Statements; intended: Intended }>()

export interface OurDatabase {
  path: string
  /** Connections to it that are the store's own: of a database in memory there are no others. */
  connections: WeakSet<object>
  random: () => number
}

/** Whether something was enqueued within it. */
export function hasEnqueued(transaction: object): boolean {
  return known.has(transaction)
}

/** Enqueues on a user's own connection, inside its transaction: both commit, or neither. */
export function withinTransaction(transaction: unknown, ours: OurDatabase, now: () => number): Within {
  const raw = connectionOf(transaction)
  return {
    synchronous: true,
    enqueue(tasks: readonly NewTask[]): Enqueued[] {
      requireTransaction(raw, ours)
      let place = known.get(raw)
      if (place === undefined) {
        place = placeOn(raw, ours.random)
        known.set(raw, place)
      }
      return insertTasks(place.db, tasks, now(), place.intended)
    },
  }
}

function placeOn(raw: Database.Database, random: () => number): { db: Statements; intended: Intended } {
  const db = new Statements(raw)
  const laneOf = (task: NewTask) => laneId(db, task)
  return { db, intended: { laneOf, queues: new QueueBook(db, random) } }
}

function connectionOf(transaction: unknown): Database.Database {
  const raw = transaction as Partial<Database.Database> | null
  if (typeof raw?.prepare !== 'function' || typeof raw.inTransaction !== 'boolean') {
    throw new InputError('within: this is no better-sqlite3 connection', {
      code: 'BAD_OPTION',
      hint: 'Pass the connection (new Database(file)) whose transaction you are in.',
    })
  }
  return raw as Database.Database
}

function requireTransaction(raw: Database.Database, ours: OurDatabase): void {
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
