import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const CHECK_MS = 10

/**
 * For those that do not announce the end of the queue: until none of these questions has an answer, in their order.
 * Each has to be one that an index answers, so that asking costs next to nothing.
 */
export async function noneLeft(url: string, questions: readonly string[]): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  for (const question of questions) {
    while ((await client.query(question)).rows.length > 0) await sleep(CHECK_MS)
  }
  await client.end()
}
