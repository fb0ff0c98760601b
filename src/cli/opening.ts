import type { Config } from '../config/types.ts'
import { checkPostgres, checkTimings } from '../engine/settings.ts'
import { openStore } from '../store/by-url/open.ts'
import type { Store } from '../store/ports/store.ts'
import { checkSqlite } from '../store/sqlite/drivers/load.ts'
import type { Values } from './command.ts'
import { configOf } from './operations/open.ts'
import type { Terminal } from './terminal.ts'

/** For as long as `use` takes. The database is made if it is not there: this is for those who work on it. */
export async function withStore<T>(
  values: Values,
  terminal: Terminal,
  use: (store: Store, config: Config) => Promise<T>,
): Promise<T> {
  const config = await configOf(values, terminal)
  const store = await openStoreOf(config)
  try {
    return await use(store, config)
  } finally {
    await store.close()
  }
}

export function openStoreOf({ engine }: Config): Promise<Store> {
  const { database, durability, postgres, sqlite, timings } = engine
  const { queryMs: queryTimeoutMs } = checkTimings(timings ?? {})
  return openStore(database, {
    durability,
    sqlite: checkSqlite(sqlite ?? {}),
    postgres: { ...checkPostgres(postgres ?? {}), queryTimeoutMs },
  })
}
