import { openStoreOf } from '../../config/open-store.ts'
import type { Config } from '../../config/types.ts'
import type { Store } from '../../store/ports/store.ts'
import type { Values } from '../console/command.ts'
import type { Terminal } from '../console/terminal.ts'
import { configOf } from './open.ts'

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
