import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { say, told } from '../journeys/program.ts'

/** Attempts enough for any number of kills: only the crash limit can end one of these early. */
const retry = { attempts: 1_000, backoff: 'fixed', base: 1, jitter: 0 } as const

export const plain = defineTask({ name: 'plain', retry, input: z.any(), run: async () => 'done' })

/** `task` is the key: a second effect of the same task would be an error. */
export const EFFECTS = 'CREATE TABLE IF NOT EXISTS effects (task BIGINT PRIMARY KEY)'

/** On SQLite at once: a promise would be refused there. */
function writeEffect(tx: any, task: string): void | Promise<void> {
  if ('query' in tx) return tx.query('INSERT INTO effects (task) VALUES ($1)', [task])
  tx.prepare('INSERT INTO effects (task) VALUES (?)').run(Number(task))
}

export const effect = defineTask({
  name: 'effect',
  retry,
  run: async (_, ctx) => {
    // Some take a moment: a kill should also hit what runs.
    const ms = Number(ctx.id) % 4
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    return ctx.complete('done', (tx) => writeEffect(tx, ctx.id))
  },
})

/** An effect and its step are one commit: a second effect of the same task would be an error. */
export const stepped = defineTask({
  name: 'stepped',
  retry,
  run: async (_, ctx) => {
    await ctx.step('before', () => 1)
    await ctx.step('book', (tx) => writeEffect(tx, ctx.id), { atomic: true })
    await ctx.step('after', () => 2)
  },
})

/** The signal that it waits for is taken once, and so its effect is written once. */
export const waiting = defineTask({
  name: 'waiting',
  retry,
  run: async (_, ctx) => {
    await ctx.waitFor('go')
    await ctx.step('book', (tx) => writeEffect(tx, ctx.id), { atomic: true })
  },
})

/** Fails the first time. */
export const flaky = defineTask({
  name: 'flaky',
  retry,
  run: async (_, ctx) => {
    ctx.log.info('try', { attempt: ctx.attempt })
    await ctx.progress(0.5)
    if (ctx.attempt === 1) throw new Error('the first time fails')
  },
})

/** Runs until it is told to end. In a test's own process it ends at once. */
export const held = defineTask({
  name: 'held',
  retry,
  run: async (_, ctx) => {
    say('running', { id: ctx.id })
    if (process.env.GLEANER_CHILD !== undefined) await told('release')
    return ctx.complete('done', (tx) => writeEffect(tx, ctx.id))
  },
})

/** One of each key at a time. */
export const limited = defineTask({
  name: 'limited',
  retry,
  input: z.string(),
  limit: { key: (tenant) => tenant, concurrency: 1, rate: { count: 1_000, per: '1s' } },
  run: async (_, ctx) => ctx.complete('done', (tx) => writeEffect(tx, ctx.id)),
})

/** One of each key at a time, in the order of enqueue. Some fail the first time. */
export const ordered = defineTask({
  name: 'ordered',
  retry,
  input: z.string(),
  order: (account) => account,
  run: async (_, ctx) => {
    if (ctx.attempt === 1 && Number(ctx.id) % 2 === 0) throw new Error('the first time fails')
  },
})

export const tasks = [plain, effect, stepped, waiting, flaky, held, ordered]

/** With those that have limits: where there are any, all claims look at them. */
export const withLimited = [...tasks, limited]
