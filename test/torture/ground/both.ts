import { inject } from 'vitest'
import type { Ground } from './ground.ts'
import { PostgresGround } from './postgres.ts'
import { SqliteGround } from './sqlite.ts'

/** One torture, two databases. */
export const BOTH: readonly [name: string, open: () => Promise<Ground>][] = [
  ['SQLite', async () => new SqliteGround()],
  ['PostgreSQL', () => PostgresGround.fresh(inject('postgresUrl'))],
]
