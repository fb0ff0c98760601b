import { loadConfig } from '../config/load.ts'
import type { Config } from '../config/types.ts'
import { checkPostgres } from '../engine/settings.ts'
import type { Store } from '../store/contract.ts'
import { openStore } from '../store/open.ts'
import { text, type Values } from './command.ts'
import type { Terminal } from './terminal.ts'

export function configOf(values: Values, { cwd, env }: Terminal): Promise<Config> {
  return loadConfig(text(values.config), { cwd, env })
}

/** For as long as `use` takes. */
export async function withStore<T>(
  values: Values,
  terminal: Terminal,
  use: (store: Store, config: Config) => Promise<T>,
): Promise<T> {
  const config = await configOf(values, terminal)
  const { database, durability, postgres } = config.engine
  const store = await openStore(database, { durability, postgres: checkPostgres(postgres ?? {}) })
  try {
    return await use(store, config)
  } finally {
    await store.close()
  }
}
