import { checkPostgres, checkTimings } from '../engine/settings.ts'
import { openStore } from '../store/by-url/open.ts'
import type { Store } from '../store/ports/store.ts'
import { checkSqlite } from '../store/sqlite/drivers/load.ts'
import type { Config } from './types.ts'

/** The database of a config, for a process that runs no tasks of it. */
export function openStoreOf({ engine }: Config): Promise<Store> {
  const { database, durability, postgres, sqlite, timings } = engine
  const { queryMs: queryTimeoutMs } = checkTimings(timings ?? {})
  return openStore(database, {
    durability,
    sqlite: checkSqlite(sqlite ?? {}),
    postgres: { ...checkPostgres(postgres ?? {}), queryTimeoutMs },
  })
}
