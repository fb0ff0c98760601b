import type { DiscoveryScripts } from '../../sql/discovery-sql.ts'
import type { Database } from '../server/database.ts'
import { driveOn } from '../server/scripts.ts'
import type { TransactionOptions } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import type { DiscoveryCache } from './discovery-cache.ts'
import { isOwnFault, isPerhapsAltered } from './faults.ts'
import { BACKGROUND } from './services.ts'

export interface DiscoveryServices {
  database: Database
  book: DiscoveryCache
  promised: boolean
  read<T>(work: () => Promise<T>): Promise<T>
  write<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
}

/** Statements that read are transactions of their own, so that a script may go on after one that failed. */
export function discoveryScripts(services: DiscoveryServices): DiscoveryScripts {
  const { database, book, promised, read, write } = services
  const { ofUser } = database
  return {
    read: (name, script) => read(() => book.reading(name, (known) => driveOn(ofUser, script(known.sql)))),
    readOrProblem: (name, script) =>
      read(async () => {
        try {
          return await book.reading(name, (known) => driveOn(ofUser, script(known.sql)))
        } catch (error) {
          if (isOwnFault(error)) return driveOn(ofUser, script(error))
          throw error
        }
      }),
    write: (name, script) =>
      book.reading(name, (known) =>
        write((own) => driveOn(own, script(known.sql)), { durable: promised, runsUserSql: true }),
      ),
    writeStep: (name, script) =>
      read(async () => {
        const step = async (again: boolean) => {
          const known = await book.getOrProblem(name, again)
          const source = known instanceof Error ? known : known.sql
          return database.transaction((own) => driveOn(own, script(source)), BACKGROUND)
        }
        try {
          return await step(false)
        } catch (error) {
          if (!isPerhapsAltered(error)) throw error
        }
        return step(true)
      }),
    isOwnFault,
  }
}
