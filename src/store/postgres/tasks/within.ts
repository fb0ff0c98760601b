import { InputError } from '../../../errors.ts'
import type { Enqueued, NewTask, Within } from '../../ports/new-task.ts'
import { awaitedBy, insertAfter, watchTask } from '../../scripts/flows/make.ts'
import { deliverSignal } from '../../scripts/signals.ts'
import { native } from '../../sql/script.ts'
import { driveOn, postgresDialect } from '../server/scripts.ts'
import type { Queryable, Sql } from '../server/sql.ts'
import { translated } from '../server/sql-errors.ts'
import { insertTasks } from './enqueue.ts'
import type { Memory } from './memory.ts'
import { postgresResuming } from './resuming.ts'
import { rowid } from './rowid.ts'

/** Delivered when, and only if, the user commits. */
const WITHIN_WORK = 'within work'

/** Enqueues on a user's own connection, inside its transaction: both commit, or neither. */
export function withinTransaction(
  transaction: unknown,
  sql: Sql,
  memory: Memory,
  options: { clockMs: () => number | null; notify: boolean },
): Within {
  const client = transaction as Partial<Queryable> | null | undefined
  if (typeof client?.query !== 'function') {
    throw new InputError('within: this is not a PostgreSQL client', {
      code: 'BAD_OPTION',
      hint: 'Pass the client whose transaction you are in: anything with query(text, values).',
    })
  }
  const own = sql.on(client as Queryable)
  return {
    synchronous: false,
    async enqueue(tasks: readonly NewTask[]) {
      try {
        const saying = options.notify ? { channel: sql.schema, words: WITHIN_WORK } : null
        const insert = (some: readonly NewTask[]) => insertTasks(own, memory, some, options.clockMs(), saying)
        return tasks[0]?.after !== undefined
          ? await insertAfterOn({ sql, own, clockMs: options.clockMs, insert }, tasks)
          : await insert(tasks)
      } catch (error) {
        throw translated(error)
      }
    },
    async signal(signal) {
      try {
        const dialect = postgresDialect(options.clockMs)
        const answer = await driveOn(own, deliverSignal(dialect, postgresResuming(memory), signal))
        if (answer === 'resumes' && options.notify)
          await own.run('SELECT pg_catalog.pg_notify($1, $2)', [sql.schema, WITHIN_WORK])
        return answer
      } catch (error) {
        throw translated(error)
      }
    },
  }
}

interface AfterOn {
  /** Of the store. */
  sql: Sql
  /** Of the user's transaction. */
  own: Sql
  clockMs: () => number | null
  insert: (tasks: readonly NewTask[]) => Promise<Enqueued[]>
}

/** The tasks that they wait for are marked before, in transactions of their own: a worker would wait for the end of the user's. */
async function insertAfterOn(
  { sql, own, clockMs, insert }: AfterOn,
  tasks: readonly NewTask[],
): Promise<Enqueued[]> {
  for (const id of awaitedBy(tasks)) await driveOn(sql, watchTask(Number(rowid(id))))
  const making = {
    db: postgresDialect(clockMs),
    insert: (some: readonly NewTask[]) => native(() => insert(some)),
  }
  return driveOn(own, insertAfter({ ...making, keyHolders: () => native(() => new Map()) }, tasks))
}
