import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { defineResource, defineTask, ResourceError } from '../../src/index.ts'
import { say } from '../journeys/program.ts'

/** A task shows what it does by what it says, with the time; its supervisor hears it. */
const running = (ctx: { id: string; name: string; attempt: number }) =>
  say('running', { id: ctx.id, name: ctx.name, attempt: ctx.attempt, pid: process.pid, at: Date.now() })

export const quick = defineTask({
  name: 'quick',
  input: z.number(),
  run: (n, ctx) => {
    running(ctx)
    return n
  },
})

/** Writes nothing to stdout, which blocks when it is full and the supervisor does not read. */
export const silent = defineTask({ name: 'silent', input: z.number(), run: (n) => n })

/** Ends when a file is there, or when it is told to. */
export const untilThere = defineTask({
  name: 'until-there',
  input: z.object({ file: z.string() }),
  run: async ({ file }, ctx) => {
    running(ctx)
    ctx.signal.addEventListener('abort', () => say('aborted', { at: Date.now() }))
    while (!existsSync(file)) {
      ctx.signal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return process.pid
  },
})

/** Keeps the event loop from turning, as a computation would. */
export const blocking = defineTask({
  name: 'blocking',
  input: z.object({ ms: z.number() }),
  retry: { attempts: 2, backoff: 'fixed', base: 1 },
  run: ({ ms }, ctx) => {
    running(ctx)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    return process.pid
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

/** Ends its worker with the code of success, each time. */
export const quitter = defineTask({
  name: 'quitter',
  retry: { attempts: 10 },
  run: (_, ctx) => {
    running(ctx)
    process.exit(0)
  },
})

/** Starts a child of its own that would go on for ever, and says who it is. */
export const parent = defineTask({
  name: 'parent',
  run: async (_, ctx) => {
    // Without a mark in its environment only its group leads to it.
    const child = spawn('sleep', ['600'], { stdio: 'ignore', env: {} })
    child.once('spawn', () => say('parent', { child: child.pid, pid: process.pid }))
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  },
})

/** Starts a process that nobody's group or parent leads to. */
export const escaping = defineTask({
  name: 'escaping',
  input: z.object({ waits: z.boolean() }),
  run: async ({ waits }, ctx) => {
    const script = 'setsid sleep 600 >/dev/null 2>&1 & echo $!'
    const shell = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    const child = Number(String((await once(shell.stdout, 'data'))[0]))
    // Until then it still has the shell's name, and its group.
    while (readFileSync(`/proc/${child}/comm`, 'utf8') !== 'sleep\n')
      await new Promise((resolve) => setTimeout(resolve, 5))
    say('escaped', { child, pid: process.pid })
    if (!waits) return
    await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
  },
})

/** Keeps what it is given. */
const kept: Buffer[] = []
export const hoard = defineTask({
  name: 'hoard',
  input: z.object({ bytes: z.number() }),
  run: ({ bytes }, ctx) => {
    running(ctx)
    kept.push(Buffer.alloc(bytes, 1))
  },
})

/** Its effect, in the same database: a second one would violate the table's key. */
export const EFFECTS = 'CREATE TABLE effects (task INTEGER PRIMARY KEY, pid INTEGER NOT NULL)'

/** Heeds no signal: when the file is there it tries to write. */
export const late = defineTask({
  name: 'late',
  input: z.object({ file: z.string() }),
  run: async ({ file }, ctx) => {
    running(ctx)
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5))
    try {
      return await ctx.complete(process.pid, (tx) => {
        tx.prepare('INSERT INTO effects (task, pid) VALUES (?, ?)').run(Number(ctx.id), process.pid)
      })
    } catch (error) {
      say('refused', { pid: process.pid, code: (error as { code?: string }).code })
      throw error
    }
  },
})

/** Leaves a mark of each run. */
export const marked = defineTask({
  name: 'marked',
  input: z.object({ file: z.string(), ms: z.number() }),
  run: async ({ file, ms }, ctx) => {
    appendFileSync(file, `${ctx.id}\n`)
    await new Promise((resolve) => setTimeout(resolve, ms))
  },
})

/** There when its file is, or when no file was named; loading takes longer than its tasks may. */
const gpu = defineResource({
  name: 'gpu',
  probe: () => {
    const file = process.env.GLEANER_GPU
    return file === undefined || existsSync(file) || { reason: 'no VRAM', retryAfter: '50ms' }
  },
  load: async () => {
    say('loading')
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    return { pid: process.pid }
  },
})

export const needy = defineTask({
  name: 'needy',
  timeout: '100ms',
  uses: { gpu },
  run: (_, ctx) => ctx.use.gpu.pid,
})

/** Says that its worker is broken. */
export const broken = defineTask({
  name: 'broken',
  run: () => {
    throw new ResourceError('the GPU fell off the bus')
  },
})

const unloadable = defineResource({
  name: 'unloadable',
  retryAfter: '10ms',
  load: () => {
    throw new Error('the file of the model is damaged')
  },
})

/** Its resource never loads. */
export const unloaded = defineTask({ name: 'unloaded', uses: { unloadable }, run: () => {} })

export const tasks = [
  quick,
  silent,
  untilThere,
  blocking,
  poison,
  quitter,
  parent,
  escaping,
  hoard,
  late,
  marked,
  needy,
  broken,
  unloaded,
]
