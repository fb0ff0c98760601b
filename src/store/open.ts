import type { Clock } from '../clock.ts'
import { InputError } from '../errors.ts'
import type { Store } from './contract.ts'
import type { Durability } from './sqlite/connection.ts'
import { openSqliteStore } from './sqlite/store.ts'

export interface StoreOptions {
  durability?: Durability
  clock?: Clock
}

/** The store behind a database URL. */
export async function openStore(database: string, options: StoreOptions): Promise<Store> {
  if (typeof database === 'string' && /^postgres(ql)?:/.test(database)) {
    const { openPostgresStore } = await import('./postgres/store.ts')
    return openPostgresStore({ url: database, ...options })
  }
  const path = typeof database === 'string' && /^sqlite:(?<path>.+)$/s.exec(database)?.groups?.path
  if (path) return openSqliteStore({ path, ...options })
  throw new InputError(`database: ${JSON.stringify(database) ?? String(database)} is not a database`, {
    code: 'BAD_CONFIG',
    hint: "Use 'sqlite:./app.db', or 'sqlite::memory:' for a test.",
  })
}
