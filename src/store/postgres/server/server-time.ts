import type { Sql } from './sql.ts'

/** Its clock decides: workers run on many hosts. */
export async function serverTime(sql: Sql): Promise<number> {
  return (await sql.row<{ now: number }>('SELECT gleaner.now_ms() AS now'))!.now
}
