import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { FromContender, ToContender } from './contender.ts'
import type { TestDatabase } from './database.ts'
import type { Theme } from './theme.ts'
import { counts } from './world.ts'

const PROCESSES = 4
const TASKS = 20_000
/** The least busy process must get this part of what the busiest got. */
const LEAST_SHARE = 0.25

/** Node strips no types inside node_modules: as a package we are JavaScript, in the checkout TypeScript. */
const CONTENDER = new URL(`./contender.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

export const contention: Theme = (specify, expect) => {
  specify(
    '20 000 tasks are completed exactly once by 4 processes, without an error and with a fair share for each',
    async (world) => {
      const ids = await world.enqueueMany(TASKS)
      const contenders = await Promise.all(
        Array.from({ length: PROCESSES }, () => Contender.start(world.database)),
      )
      try {
        expect(new Set([process.pid, ...contenders.map(({ pid }) => pid)]).size).toBe(PROCESSES + 1)
        const startedMs = performance.now()
        // All are up before the first one claims: none is late.
        const ends = await Promise.all(contenders.map((contender) => contender.work()))
        const shares = ends.map(({ completed }) => completed.length)
        console.log(
          `contention: ${TASKS} tasks, ${Math.round(performance.now() - startedMs)} ms, shares ${shares.join(' ')}`,
        )
        expect(ends.map(({ error }) => error)).toEqual(ends.map(() => null))
        expect(ends.flatMap(({ refused }) => refused)).toEqual([])
        const completed = ends.flatMap((end) => end.completed)
        expect(completed).toHaveLength(TASKS)
        expect(completed.sort()).toEqual([...ids].sort())
        expect(await world.store.countTasks({})).toEqual(counts({ completed: TASKS }))
        expect(Math.min(...shares)).toBeGreaterThanOrEqual(Math.max(...shares) * LEAST_SHARE)
      } finally {
        await Promise.all(contenders.map((contender) => contender.stop()))
      }
    },
  )
}

/** Another OS process that claims and settles. */
class Contender {
  readonly #child: ChildProcess
  readonly pid: number

  constructor(child: ChildProcess, pid: number) {
    this.#child = child
    this.pid = pid
  }

  static async start({ elsewhere }: TestDatabase): Promise<Contender> {
    // Without what a test runner tells its own workers.
    const child = fork(CONTENDER, [elsewhere.module, elsewhere.database], {
      execArgv: [],
      env: { PATH: process.env.PATH },
    })
    const ready = await answer(child)
    if (ready.kind !== 'ready') throw new Error(`a contender did not start: ${JSON.stringify(ready)}`)
    return new Contender(child, ready.pid)
  }

  async work(): Promise<Extract<FromContender, { kind: 'end' }>> {
    this.#child.send({ kind: 'go' } satisfies ToContender)
    const end = await answer(this.#child)
    if (end.kind !== 'end') throw new Error(`not an end: ${JSON.stringify(end)}`)
    return end
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}

async function answer(child: ChildProcess): Promise<FromContender> {
  const gone = new AbortController()
  const onExit = (code: number | null) => gone.abort(new Error(`a contender ended too soon, with ${code}`))
  child.once('exit', onExit)
  try {
    const [message] = await once(child, 'message', { signal: gone.signal })
    return message as FromContender
  } catch (error) {
    throw gone.signal.aborted ? gone.signal.reason : error
  } finally {
    child.off('exit', onExit)
  }
}
