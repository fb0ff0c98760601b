import pg from 'pg'
import type { Parent } from './role.ts'

/** Somebody's long report: sees the database as it was, and keeps it from forgetting anything. Until it is killed. */
export async function run({ url }: { url: string }, parent: Parent): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT count(*) FROM pg_class')
  parent.tell('held')
  await parent.hear('release')
}
