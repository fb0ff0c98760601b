import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test as plain } from 'vitest'
import type { Pool, SupervisionTimings } from '../../src/config/types.ts'
import type { Gleaner } from '../../src/index.ts'
import type { WorkerRecord } from '../../src/model/worker.ts'
import { openStore } from '../../src/store/by-url/open.ts'
import type { Store } from '../../src/store/ports/store.ts'
import type { Supervisor, SupervisorSetup } from '../../src/supervisor/contract.ts'
import { openSupervisor } from '../../src/supervisor/supervisor.ts'
import type { Child } from '../journeys/child.ts'
import { Place } from '../journeys/place.ts'
import { quickStart } from '../quick-start/environment.ts'
import { until } from '../until.ts'
import { tasks } from './tasks.ts'

/** `npm run torture`: real lengths, and many times. */
export const TORTURE = process.env.GLEANER_TORTURE === '1'

const CONFIG = join(import.meta.dirname, 'programs/config.ts')
const PROGRAM = join(import.meta.dirname, 'programs/supervisor.ts')

/** It only bounds a test that is failing anyway. */
const PATIENCE_MS = TORTURE ? 150_000 : 25_000

/** Short, so that a test takes seconds; far enough apart that a busy machine does not mix them up. */
export const TIMINGS: SupervisionTimings = {
  frame: '300ms',
  stale: '1500ms',
  hung: '4s',
  startup: '20s',
  drain: '5s',
  term: '1s',
  grace: '300ms',
  backoff: '20ms',
  backoffMax: '100ms',
  registry: '500ms',
  commands: '100ms',
}

export interface Logged {
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
  [detail: string]: unknown
}

export function pool(options: Partial<Pool> = {}): Pool {
  return {
    name: 'main',
    processes: 1,
    concurrency: 1,
    queues: ['default'],
    discoveries: [],
    capabilities: {},
    strategies: {},
    resourceErrorLimit: undefined,
    program: undefined,
    maxRss: undefined,
    maxItems: undefined,
    ...options,
  }
}

/** A database, a supervisor in this process, its real worker processes, and everything they say. */
export class Estate {
  readonly place = new Place()
  /** A file of its own, unless a test says otherwise. */
  database = this.place.database
  readonly log: Logged[] = []
  readonly #stores: Store[] = []
  readonly #supervisors: Supervisor[] = []
  readonly #listeners = new Set<() => void>()

  env(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return {
      ...quickStart(),
      GLEANER_CHILD: '1',
      GLEANER_DATABASE: this.database,
      GLEANER_CRASH_FILE: this.file('crash'),
      ...more,
    }
  }

  async supervise(options: Partial<SupervisorSetup> = {}): Promise<Supervisor> {
    const store = await openStore(this.database)
    this.#stores.push(store)
    const write = (level: Logged['level']) => (details: object, message: string) =>
      this.#note({ level, ...details, message })
    const supervisor = await openSupervisor({
      store,
      config: CONFIG,
      pools: [pool()],
      name: 'main',
      ...options,
      timings: { ...TIMINGS, ...options.timings },
      env: this.env(options.env),
      logger: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
      onChange: () => this.#tell(),
    })
    this.#supervisors.push(supervisor)
    return supervisor
  }

  /** Processes that are started from now on crash, as `programs/config.ts` understands it. */
  breaks(crash: string): void {
    writeFileSync(this.file('crash'), crash)
  }

  /** A supervisor in a process of its own. */
  supervisor(options: Pick<SupervisorSetup, 'timings' | 'limits' | 'env'> & { pools?: Pool[] } = {}): Child {
    return this.place.start(PROGRAM, {
      database: this.database,
      config: CONFIG,
      pools: [pool()],
      ...options,
      timings: { ...TIMINGS, ...options.timings },
      env: this.env(options.env),
    })
  }

  gleaner(): Promise<Gleaner> {
    return this.place.open({ database: this.database, tasks })
  }

  /** What the workers said: `{"event": …}` on a line of their standard output. */
  said(event: string): Record<string, any>[] {
    return this.log.flatMap(({ stream, message, worker }) => {
      if (stream !== 'stdout' || !message.startsWith('{')) return []
      const said = JSON.parse(message)
      return said.event === event ? [{ ...said, worker }] : []
    })
  }

  async hears(event: string, matches: (said: Record<string, any>) => boolean = () => true) {
    return this.until(`"${event}" is said`, () => this.said(event).find(matches))
  }

  logged(message: string, matches: (logged: Logged) => boolean = () => true): Promise<Logged> {
    return this.until(`"${message}" is logged`, () =>
      this.log.find((logged) => logged.message.includes(message) && matches(logged)),
    )
  }

  async worker(
    supervisor: Supervisor,
    matches: Partial<WorkerRecord> | ((worker: WorkerRecord) => boolean),
    id = 'worker:main:0',
  ): Promise<WorkerRecord> {
    const fits = (worker: WorkerRecord) =>
      typeof matches === 'function'
        ? matches(worker)
        : Object.entries(matches).every(([key, value]) => worker[key as keyof WorkerRecord] === value)
    return this.until(`${id} is ${JSON.stringify(matches)}`, () =>
      supervisor.workers().find((worker) => worker.id === id && fits(worker)),
    )
  }

  /** As soon as it is so: looked at whenever something happens. */
  async until<T>(what: string, look: () => T | undefined): Promise<T> {
    const patience = AbortSignal.timeout(PATIENCE_MS)
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      if (patience.aborted) throw new Error(`never: ${what}\n${this.#transcript()}`)
      await new Promise<void>((resolve) => {
        const heard = () => {
          this.#listeners.delete(heard)
          patience.removeEventListener('abort', heard)
          resolve()
        }
        this.#listeners.add(heard)
        patience.addEventListener('abort', heard)
      })
    }
  }

  touch(name: string): string {
    const file = this.file(name)
    writeFileSync(file, '')
    return file
  }

  file(name: string): string {
    return join(this.place.folder, name)
  }

  async clear(): Promise<void> {
    await Promise.all(this.#supervisors.splice(0).map((supervisor) => supervisor.stop({ drain: 0 })))
    await Promise.all(this.#stores.splice(0).map((store) => store.close()))
    await this.place.clear()
  }

  #note(logged: Logged): void {
    this.log.push(logged)
    this.#tell()
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  #transcript(): string {
    return this.log
      .slice(-40)
      .map((logged) => JSON.stringify(logged))
      .join('\n')
  }
}

/** Also if nobody has asked for its exit code: an orphan's new parent takes a second or two over that. */
export async function gone(pid: number): Promise<void> {
  await until(`process ${pid} is gone`, () => {
    try {
      process.kill(pid, 0)
      return existsSync('/proc') && /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    } catch {
      return true
    }
  })
}

export const test = plain.extend<{ estate: Estate }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs from here
  estate: async ({}, use) => {
    const estate = new Estate()
    await use(estate)
    await estate.clear()
  },
})
