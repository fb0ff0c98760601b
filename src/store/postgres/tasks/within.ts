import { InputError } from '../../../errors.ts'
import type { NewTask, Within } from '../../ports/new-task.ts'
import type { Memory } from '../memory.ts'
import type { Queryable, Sql } from '../server/sql.ts'
import { translated } from '../server/sql-errors.ts'
import { insertTasks } from './enqueue.ts'

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
        // Delivered when, and only if, the user commits.
        const saying = options.notify ? { channel: sql.schema, words: 'within work' } : null
        return await insertTasks(own, memory, tasks, options.clockMs(), saying)
      } catch (error) {
        throw translated(error)
      }
    },
  }
}
