import { z } from 'zod'
import { defineTask } from '../../src/index.ts'
import { say, told } from './program.ts'

/** A task shows what it does by what it says; the tests hear it. */
const running = (ctx: { id: string; attempt: number; fence: number }) =>
  say('running', { id: ctx.id, attempt: ctx.attempt, fence: ctx.fence, pid: process.pid })

export const quick = defineTask({
  name: 'quick',
  input: z.number(),
  run: async (n, ctx) => {
    running(ctx)
    return n
  },
})

/** Its effect, in the same database: a second one would violate the table's key. */
export const EFFECTS = 'CREATE TABLE IF NOT EXISTS effects (task INTEGER PRIMARY KEY, pid INTEGER NOT NULL)'

export const effect = defineTask({
  name: 'effect',
  retry: { attempts: 1_000, backoff: 'fixed', base: 1 },
  run: (_, ctx) =>
    ctx.complete('done', (tx) => {
      tx.prepare('INSERT INTO effects (task, pid) VALUES (?, ?)').run(Number(ctx.id), process.pid)
    }),
})

/** Waits for the word `release`, or for its signal. */
export const patient = defineTask({
  name: 'patient',
  run: async (_, ctx) => {
    running(ctx)
    const { signal } = ctx
    await new Promise<void>((resolve, reject) => {
      void told('release').then(() => resolve())
      signal.addEventListener('abort', () => {
        say('aborted', { id: ctx.id, reason: signal.reason.name, code: signal.reason.code })
        reject(signal.reason)
      })
    })
    return process.pid
  },
})

/** Does not heed its signal: ends when released, and tries to write then. */
export const stubborn = defineTask({
  name: 'stubborn',
  run: async (_, ctx) => {
    running(ctx)
    ctx.signal.addEventListener('abort', () =>
      say('aborted', { id: ctx.id, reason: ctx.signal.reason.name, code: ctx.signal.reason.code }),
    )
    await told('release')
    try {
      const done = await ctx.complete(process.pid, (tx) => {
        tx.prepare('INSERT INTO effects (task, pid) VALUES (?, ?)').run(Number(ctx.id), process.pid)
      })
      say('wrote', { id: ctx.id })
      return done
    } catch (error) {
      say('refused', { id: ctx.id, code: (error as { code?: string }).code })
      throw error
    }
  },
})

/** Takes its worker down, each time. */
export const poison = defineTask({
  name: 'poison',
  retry: { attempts: 10 },
  run: async (_, ctx) => {
    running(ctx)
    process.kill(process.pid, 'SIGKILL')
    // The signal arrives a moment later: nothing may be finished meanwhile.
    await new Promise(() => {})
  },
})

/** Keeps the event loop from turning, as a computation would. */
export const blocking = defineTask({
  name: 'blocking',
  input: z.object({ ms: z.number() }),
  run: async ({ ms }, ctx) => {
    running(ctx)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    return process.pid
  },
})

/** Waits for the word `release`; a negative number takes its worker down. */
export const bulk = defineTask({
  name: 'bulk',
  input: z.number(),
  retry: { attempts: 10, base: 1, backoff: 'fixed' },
  batch: { size: 100, wait: '50ms' },
  run: async (inputs) => {
    say('call', { inputs })
    if (inputs.some((n) => n < 0)) {
      process.kill(process.pid, 'SIGKILL')
      await new Promise(() => {})
    }
    await told('release')
    return inputs
  },
})

export const tasks = [bulk, quick, effect, patient, stubborn, poison, blocking]
