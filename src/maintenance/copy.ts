import { systemClock } from '../clock.ts'
import { checkTypes, declareOptions, type Parts } from '../options.ts'
import { type CopyOptions, copyTables, sourcePath } from '../store/by-url/copy.ts'
import { diagnose } from '../store/by-url/diagnosis.ts'
import { openStore } from '../store/by-url/open.ts'
import type { Copied } from '../store/copied-tables.ts'
import { known } from './manage.ts'
import { Sweeper } from './sweeper.ts'

const OPTIONS = declareOptions<CopyOptions & Parts<'from' | 'to'>>('copyDatabase', {
  from: true,
  to: true,
  postgres: true,
  sqlite: true,
  dryRun: true,
  onProgress: true,
})

/**
 * From one machine to several: `copyDatabase({ from: 'sqlite:./app.db', to: 'postgres://…' })` takes all that the engine keeps into an
 * empty schema of PostgreSQL. Refused while anybody works on the source, which stays as it is. All of it is there at the end, or nothing.
 */
export async function copyDatabase(options: { from: string; to: string } & CopyOptions): Promise<Copied> {
  const { from, to, ...rest } = known(options, OPTIONS)
  checkTypes(options, { from: 'string', to: 'string' }, 'copyDatabase')
  if (rest.dryRun !== true) await giveBackWhatTheDeadHeld(from, { sqlite: rest.sqlite })
  return copyTables(from, to, rest)
}

/** Somebody has to: there may be no worker any more. */
async function giveBackWhatTheDeadHeld(
  database: string,
  options: Pick<CopyOptions, 'sqlite'>,
): Promise<void> {
  sourcePath(database)
  // Not what opening it would do: a database of another version is left as it is.
  const { version, latest } = await diagnose(database, options)
  if (version !== latest) return
  const store = await openStore(database, options)
  try {
    await new Sweeper(store, systemClock, { leaseMs: Number.POSITIVE_INFINITY, everyMs: 1 }).sweep()
  } finally {
    await store.close()
  }
}
