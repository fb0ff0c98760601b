import { setTimeout as sleep } from 'node:timers/promises'
import { type Context, defineDiscovery } from '../../src/index.ts'

/** A table of a user's whose rows need work, in SQL that both databases understand. */
export const FILES = [
  `CREATE TABLE files (id INTEGER PRIMARY KEY, poison TEXT, needs_tagging INTEGER NOT NULL, tags TEXT)`,
  'CREATE INDEX files_to_tag ON files (id) WHERE needs_tagging = 1',
  // What a handler does besides: a second time for the same row would be refused.
  'CREATE TABLE effects (file INTEGER PRIMARY KEY)',
] as const

/** The first `poison` of them are poisonous, each in another way. */
export function someFiles(count: number, poison: number): string {
  return `INSERT INTO files (id, poison, needs_tagging)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    SELECT n, CASE WHEN n > ${poison} THEN NULL WHEN n % 3 = 0 THEN 'throws' WHEN n % 3 = 1 THEN 'hangs'
      ELSE 'aborts' END, 1 FROM numbers`
}

/** How long a file takes that is none of those. */
const WORK_MS = Number(process.env.GLEANER_WORK_MS ?? 0)

export const tagFiles = defineDiscovery({
  name: 'tag-files',
  table: 'files',
  key: 'id',
  where: 'needs_tagging = 1',
  retry: { attempts: 3, backoff: 'fixed', base: '50ms' },
  timeout: '300ms',
  async run(file, ctx) {
    if (file.poison === 'throws') throw new Error('this file is poison')
    if (file.poison === 'hangs') await sleep(60_000, undefined, { signal: ctx.signal })
    if (file.poison === 'aborts') process.abort()
    if (WORK_MS > 0) await sleep(WORK_MS)
    return ctx.complete('tagged', (tx) => insertEffect(tx, file.id))
  },
  done: (tags) => ({ tags, needs_tagging: 0 }),
})

/** Synchronous on SQLite, as its transactions are. */
function insertEffect(tx: Parameters<Parameters<Context['complete']>[1]>[0] | Client, file: number) {
  if ('prepare' in tx) return void tx.prepare('INSERT INTO effects (file) VALUES (?)').run(file)
  return tx.query('INSERT INTO effects (file) VALUES ($1)', [file]).then(() => {})
}

interface Client {
  query(text: string, values: unknown[]): Promise<unknown>
}
