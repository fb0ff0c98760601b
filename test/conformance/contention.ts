import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Counts } from '../../src/model/task.ts'
import { quickStart } from '../quick-start/environment.ts'
import type { FromContender, ToContender } from './contender.ts'
import type { TestDatabase } from './database.ts'
import type { Theme } from './theme.ts'
import { counts, type World } from './world.ts'

const PROCESSES = 4
const TASKS = 20_000
const SOME = 3_000
/** The least busy process must get this part of what the busiest got. */
const LEAST_SHARE = 0.25
/** A process that starves does so in each of them. */
const ROUNDS_MAX = 4

const isFair = (shares: readonly number[]) => Math.min(...shares) >= Math.max(...shares) * LEAST_SHARE

/** Node strips no types inside node_modules: as a package we are JavaScript, in the checkout TypeScript. */
const CONTENDER = new URL(`./contender.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

export const contention: Theme = (specify, expect) => {
  specify(
    '20 000 tasks are completed exactly once by 4 processes, without an error and with a fair share for each',
    async (world) => {
      // A round takes a second at most. On a busy machine one process may be without a processor for most of it.
      let shares = await completeAll(world, 1)
      for (let round = 2; round <= ROUNDS_MAX && !isFair(shares); round++)
        shares = await completeAll(world, round)
      expect(Math.min(...shares)).toBeGreaterThanOrEqual(Math.max(...shares) * LEAST_SHARE)
    },
  )

  /** Each task once, by all processes together. How many each completed. */
  async function completeAll(world: World, round: number): Promise<number[]> {
    const ids = await world.enqueueMany(TASKS)
    const shares: number[] = []
    await withContenders(world, PROCESSES, async (contenders) => {
      expect(new Set([process.pid, ...contenders.map(({ pid }) => pid)]).size).toBe(PROCESSES + 1)
      const startedMs = performance.now()
      const ends = await Promise.all(contenders.map((contender) => contender.work()))
      shares.push(...ends.map(({ completed }) => completed.length))
      console.log(
        `contention: ${TASKS} tasks, ${Math.round(performance.now() - startedMs)} ms, shares ${shares.join(' ')}`,
      )
      expect(ends.map(({ error }) => error)).toEqual(ends.map(() => null))
      expect(ends.flatMap(({ refused }) => refused)).toEqual([])
      const completed = ends.flatMap((end) => end.completed)
      expect(completed).toHaveLength(TASKS)
      expect(completed.sort()).toEqual([...ids].sort())
      expect(await world.store.tasks.countTasks({})).toEqual(counts({ completed: TASKS * round }))
    })
    return shares
  }

  specify('counts are exact at every moment while other processes enqueue', async (world) => {
    const seen = await countsDuring(world, (contender) => contender.enqueue(SOME))
    const queued = seen.map((moment) => moment.queued)
    expect(queued).toEqual([...queued].sort((a, b) => a - b))
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ queued: 2 * SOME }))
  })

  specify('counts are exact at every moment while other processes claim and complete', async (world) => {
    await world.enqueueMany(2 * SOME)
    const seen = await countsDuring(world, (contender) => contender.work())
    const sums = seen.map((moment) => Object.values(moment).reduce((sum, count) => sum + count, 0))
    expect(sums.filter((sum) => sum !== 2 * SOME)).toEqual([])
    expect(seen.filter((moment) => Math.min(...Object.values(moment)) < 0)).toEqual([])
    expect(await world.store.tasks.countTasks({})).toEqual(counts({ completed: 2 * SOME }))
  })
}

/** What two processes at work look like from a third. */
async function countsDuring(
  world: World,
  act: (contender: Contender) => Promise<unknown>,
): Promise<Counts[]> {
  const seen: Counts[] = []
  await withContenders(world, 2, async (contenders) => {
    let atWork = true
    const worked = Promise.all(contenders.map(act)).finally(() => {
      atWork = false
    })
    while (atWork) {
      seen.push(await world.store.tasks.countTasks({}))
      // Lets the answers of the others in.
      await new Promise((resolve) => setImmediate(resolve))
    }
    await worked
  })
  return seen
}

/** All are up before the first one claims: none is late. */
async function withContenders(
  { database }: World,
  count: number,
  use: (contenders: readonly Contender[]) => Promise<void>,
): Promise<void> {
  const contenders = await Promise.all(Array.from({ length: count }, () => Contender.start(database)))
  try {
    await use(contenders)
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()))
  }
}

type End = Extract<FromContender, { kind: 'end' }>

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
      env: { PATH: process.env.PATH, ...quickStart() },
    })
    const ready = await answer(child)
    if (ready.kind !== 'ready') throw new Error(`a contender did not start: ${JSON.stringify(ready)}`)
    return new Contender(child, ready.pid)
  }

  work(): Promise<End> {
    return this.#do({ kind: 'work' })
  }

  enqueue(count: number): Promise<End> {
    return this.#do({ kind: 'enqueue', count })
  }

  async #do(order: ToContender): Promise<End> {
    this.#child.send(order)
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
