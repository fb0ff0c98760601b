import { StoreError } from '../../../errors.ts'
import type { Effects } from '../../ports/exchange.ts'
import type { Connection } from '../file/connection.ts'
import { markOutages } from '../file/sql-errors.ts'
import { hasEnqueued, type OurDatabase } from './within.ts'

/** The user sees no more of the connection than a transaction needs, and no longer than it lasts. Whether it enqueued. */
export function runEffects({ raw }: Connection, ours: OurDatabase, effects: Effects): boolean {
  let over = false
  const prepare = (sql: string) => {
    if (over) throw notSynchronous()
    return raw.prepare(sql)
  }
  const tx = {
    prepare,
    get inTransaction() {
      return !over && raw.inTransaction
    },
  }
  ours.connections.add(tx)
  try {
    const answer = effects(tx)
    if (typeof (answer as PromiseLike<unknown> | undefined)?.then !== 'function') return hasEnqueued(tx)
    // Nobody will wait for it: what it throws later must not take the process down.
    if (answer instanceof Promise) answer.catch(() => {})
    throw notSynchronous()
  } catch (error) {
    markOutages(error)
    throw error
  } finally {
    over = true
  }
}

function notSynchronous(): StoreError {
  return new StoreError('ctx.complete: the callback is asynchronous; on SQLite it must be synchronous', {
    code: 'BAD_OPTION',
    hint: 'Do what is asynchronous before, and only the writes inside. Nothing was written.',
  })
}
