import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Context, defineDiscovery, defineTask } from '../../../src/index.ts'
import { EFFECTS, effect, limited, plain } from '../tasks.ts'

/** Rows of a user's table, whose handler has an effect that a second time would be refused. */
export const PICTURES = [
  'CREATE TABLE IF NOT EXISTS pictures (id BIGINT PRIMARY KEY, todo INTEGER NOT NULL)',
  'CREATE INDEX IF NOT EXISTS pictures_even ON pictures (id) WHERE todo = 1 AND id % 2 = 0',
  'CREATE INDEX IF NOT EXISTS pictures_odd ON pictures (id) WHERE todo = 1 AND id % 2 = 1',
  'CREATE TABLE IF NOT EXISTS picture_effects (picture BIGINT PRIMARY KEY)',
] as const

const discovery = {
  table: 'pictures',
  key: 'id',
  retry: { attempts: 1_000, backoff: 'fixed', base: 1, jitter: 0 },
  done: () => ({ todo: 0 }),
} as const

/** With an effect in the transaction that marks the row. */
export const pictures = defineDiscovery({
  ...discovery,
  name: 'pictures',
  where: 'todo = 1 AND id % 2 = 0',
  run: (row, ctx) => ctx.complete('seen', (tx) => writeEffect(tx, row.id)),
})

/** Handed in without any. */
export const plainPictures = defineDiscovery({
  ...discovery,
  name: 'plain-pictures',
  where: 'todo = 1 AND id % 2 = 1',
  run: async () => 'seen',
})

export const discoveries = [pictures, plainPictures]

/** Attempts enough for any number of faults. */
const retry = { attempts: 1_000, backoff: 'fixed', base: 1, jitter: 0 } as const

/** Takes so many milliseconds, so that a fault also hits what runs; has an effect. */
export const slow = defineTask({
  name: 'slow',
  retry,
  input: z.number(),
  run: async (ms, ctx) => {
    await sleep(ms, undefined, { signal: ctx.signal })
    return ctx.complete('done', (tx) => writeTaskEffect(tx, ctx.id))
  },
})

/** What the processes of a torture by faults work on. With limits a claim goes another way. */
export const WORK = { plain: [plain, effect, slow], limited: [plain, effect, slow, limited] } as const

export const TABLES = [EFFECTS, ...PICTURES]

type Tx = Parameters<Parameters<Context['complete']>[1]>[0]

/** Synchronous on SQLite, as its transactions are. */
function writeEffect(tx: Tx | Client, picture: number) {
  if ('prepare' in tx) return void tx.prepare('INSERT INTO picture_effects (picture) VALUES (?)').run(picture)
  return tx.query('INSERT INTO picture_effects (picture) VALUES ($1)', [picture]).then(() => {})
}

function writeTaskEffect(tx: Tx | Client, task: string) {
  if ('prepare' in tx) return void tx.prepare('INSERT INTO effects (task) VALUES (?)').run(Number(task))
  return tx.query('INSERT INTO effects (task) VALUES ($1)', [task]).then(() => {})
}

interface Client {
  query(text: string, values: unknown[]): Promise<unknown>
}
