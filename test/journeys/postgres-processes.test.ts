import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'vitest'
import { TaskCancelled } from '../../src/index.ts'
import { migrations } from '../../src/store/postgres/migrations/index.ts'
import { counts, newTask } from '../conformance/world.ts'
import { quickStart } from '../quick-start/environment.ts'
import { type Place, test } from '../store/postgres/place.ts'
import { endless, where } from './postgres-tasks.ts'

const SOON = { timeout: '30s' } as const
const CONTENDER = join(import.meta.dirname, '../conformance/contender.ts')
const WORKER = join(import.meta.dirname, 'programs/postgres-worker.ts')
const STORE = import.meta.resolve('../../src/store/by-url/open.ts')

/** Another process. What it says is kept until somebody asks. */
class Program {
  readonly #child: ChildProcess
  readonly #said: any[] = []
  #heard: (() => void) | undefined
  #exit: string | undefined

  constructor(place: Place, path: string, args: string[]) {
    // Without what a test runner tells its own workers.
    this.#child = fork(path, args, { execArgv: [], env: { PATH: process.env.PATH, ...quickStart() } })
    this.#child.on('message', (message) => {
      this.#said.push(message)
      this.#heard?.()
    })
    this.#child.once('exit', (code, signal) => {
      this.#exit = `${path} ended with ${code ?? signal}`
      this.#heard?.()
    })
    place.atEnd(() => this.kill())
  }

  tell(message: object): void {
    this.#child.send(message)
  }

  async next(kind: string): Promise<any> {
    for (;;) {
      const position = this.#said.findIndex((message) => message.kind === kind || message.kind === 'failed')
      const found = position === -1 ? undefined : this.#said.splice(position, 1)[0]
      if (found?.kind === kind) return found
      if (found !== undefined) throw new Error(found.error)
      if (this.#exit !== undefined) throw new Error(this.#exit)
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill(signal)
    await exited
  }
}

async function startWorkers(place: Place, count: number): Promise<Program[]> {
  const argument = JSON.stringify({ database: place.url, schema: place.schema })
  const programs = Array.from({ length: count }, () => new Program(place, WORKER, [argument]))
  await Promise.all(programs.map((program) => program.next('waiting')))
  return programs
}

test('8 processes complete 10 000 tasks, each exactly once and without an error', async ({ place }) => {
  const TASKS = 10_000
  const PROCESSES = 8
  const store = await place.store()
  const ids = (await store.tasks.enqueue(Array.from({ length: TASKS }, () => newTask()))).map(({ id }) => id)
  const database = `${place.url}?schema=${place.schema}`
  const contenders = Array.from({ length: PROCESSES }, () => new Program(place, CONTENDER, [STORE, database]))
  // All are up before the first one claims.
  const ready = await Promise.all(contenders.map((contender) => contender.next('ready')))
  expect(new Set([process.pid, ...ready.map(({ pid }) => pid)]).size).toBe(PROCESSES + 1)
  for (const contender of contenders) contender.tell({ kind: 'work' })
  const ends = await Promise.all(contenders.map((contender) => contender.next('end')))
  expect(ends.map(({ error }) => error)).toEqual(ends.map(() => null))
  expect(ends.flatMap(({ refused }) => refused)).toEqual([])
  const completed = ends.flatMap((end) => end.completed as string[])
  expect(completed).toHaveLength(TASKS)
  expect(completed.sort()).toEqual(ids.sort())
  expect(await store.tasks.countTasks({})).toEqual(counts({ completed: TASKS }))
  expect(Math.min(...ends.map((end) => end.completed.length))).toBeGreaterThan(0)
})

test('8 processes that open a fresh schema at the same moment: one migrates, all work, a notification wakes them, a cancel and results cross over', async ({
  place,
}) => {
  const programs = await startWorkers(place, 8)
  for (const program of programs) program.tell({ kind: 'go' })
  const idle = await Promise.all(programs.map((program) => program.next('idle')))
  expect(await place.rows('SELECT version FROM gleaner.migrations ORDER BY 1')).toEqual(
    migrations.map(({ version }) => ({ version })),
  )

  // They would look by themselves in 5 minutes.
  const gleaner = await place.open({ tasks: [where, endless] })
  const answer = await (await gleaner.enqueue(where, 'here')).result(SOON)
  expect(idle.map(({ pid }) => pid)).toContain(answer.pid)
  expect(answer).toEqual({ word: 'here', pid: expect.any(Number) })

  const running = await gleaner.enqueue(endless)
  const started = await Promise.race(
    programs.map(async (program) => {
      for (;;) if ((await program.next('started')).id === running.id) return true
    }),
  )
  expect(started).toBe(true)
  await running.cancel()
  await expect(running.result(SOON)).rejects.toBeInstanceOf(TaskCancelled)
  expect(await gleaner.tasks.counts()).toEqual(counts({ completed: 1, cancelled: 1 }))

  for (const program of programs) program.tell({ kind: 'stop' })
  await Promise.all(programs.map((program) => program.next('closed')))
  expect(await place.rows('SELECT DISTINCT cause FROM gleaner.sessions')).toEqual([{ cause: 'stop' }])
})

test('what a killed process had in hand goes on in another one', async ({ place }) => {
  const [victim] = await startWorkers(place, 1)
  victim!.tell({ kind: 'go' })
  await victim!.next('idle')
  const gleaner = await place.open({ tasks: [where, endless], timings: { sweep: '50ms' } })
  const handle = await gleaner.enqueue(endless)
  await victim!.next('started')
  await victim!.kill()
  const taken = new Promise<string>((resolve) => gleaner.on('started', ({ id }) => resolve(id)))
  const lost = new Promise((resolve) => gleaner.on('worker-lost', resolve))
  gleaner.work()
  expect(await lost).toMatchObject({ cause: 'crash', returned: 1, blamed: handle.id })
  expect(await taken).toBe(handle.id)
  await handle.cancel()
  await expect(handle.result(SOON)).rejects.toBeInstanceOf(TaskCancelled)
})
