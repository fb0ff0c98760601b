import { openStoreOf } from '../config/open-store.ts'
import type { Config } from '../config/types.ts'
import type { Store } from '../store/ports/store.ts'
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
