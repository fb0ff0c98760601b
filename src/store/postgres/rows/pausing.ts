import { GleanerError } from '../../../errors.ts'
import type { Sql } from '../server/sql.ts'
import { faultOf } from './completing.ts'
import type { RowServices } from './services.ts'

/** It is the discovery that is wrong, not the database, and nobody who was in the way. */
export function isOwnFault(error: unknown): boolean {
  if (error instanceof GleanerError && error.code === 'BAD_DISCOVERY') return true
  const fault = faultOf(error)
  return fault !== null && !/^(40|55)/.test(fault)
}

/** A discovery that cannot be worked on is paused and says why. What is no fault of its own is thrown. */
export async function pauseFor({ database }: RowServices, name: string, error: unknown): Promise<void> {
  if (!isOwnFault(error)) throw error
  await pause(database.sql, name, (error as Error).message)
}

export async function pause(sql: Sql, name: string, reason: string): Promise<void> {
  await sql.run(
    'UPDATE gleaner.discoveries SET paused = true, paused_reason = $2 WHERE name = $1 AND NOT paused',
    [name, reason],
  )
}
