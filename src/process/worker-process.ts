import { systemClock } from '../clock.ts'
import { loadConfig } from '../config/load.ts'
import type { Config } from '../config/types.ts'
import { type Engine, openProcess } from '../engine/open.ts'
import { InputError, StoreError } from '../errors.ts'
import { EXIT, exitOfFailed } from '../model/exit.ts'
import type { Phase, ProgramHealth } from '../model/worker.ts'
import { messageOf } from '../thrown.ts'
import type { Worker } from '../worker/worker.ts'
import { type Assignment, readAssignment } from './assignment.ts'
import type { Control } from './control.ts'
import { ForeignHealth, type Hindrance, programOf } from './foreign-health.ts'
import { type Hosted, hostProgram } from './foreign-host.ts'
import { HealthLine, type ReportedHealth } from './health-line.ts'
import { reportLoadedFiles } from './loaded-files.ts'
import { WorkReporter } from './work-reporter.ts'

/** An orphan finishes what it has in its hands, however long that takes: its items have time-outs of their own. */
const ORPHAN_DRAIN_MS = 24 * 3_600_000

/** Of the time that is left to become ready: for so long it waits for the database. */
const PATIENCE_PART = 0.5

/** The worker as a process of its own: the same loop as in any process, seen and steered by its supervisor. */
export async function runWorkerProcess(): Promise<void> {
  const assignment = readAssignment()
  if (assignment === undefined)
    return fail('this program runs only as a worker of a supervisor: use `gleaner start`', EXIT.configuration)
  await new WorkerProcess(assignment).run()
}

class WorkerProcess {
  readonly #assignment: Assignment
  readonly #line: HealthLine
  readonly #reporter = new WorkReporter((report) => this.#line.report(report))
  #engine: Engine | undefined
  #worker: Worker | undefined
  #program: Hosted | null = null
  /** What keeps its program from working. */
  #hindrance: Hindrance | null = null
  #programsHealth: ProgramHealth | null = null
  #workersPhase: Phase = 'initializing'
  #told: Pick<ReportedHealth, 'phase' | 'paused' | 'reason'> = {
    phase: 'initializing',
    paused: false,
    reason: null,
  }
  #counted = 0
  #rss: number | null | undefined
  #paused: boolean
  #stopping: Promise<void> | undefined
  /** How long what runs may take, should it be told to stop before it has begun. */
  #stopWithinMs: number | undefined

  constructor(assignment: Assignment) {
    this.#assignment = assignment
    this.#paused = assignment.paused
    this.#line = new HealthLine(assignment, {
      control: (control) => this.#obey(control),
      orphaned: () => this.#stop(ORPHAN_DRAIN_MS),
      turned: () => this.#count(),
    })
    const { reportsFiles } = assignment
    if (reportsFiles) reportLoadedFiles((files) => this.#line.report({ kind: 'loaded', files }))
    this.#line.onFailure((error) => fail(`its keeper failed: ${messageOf(error)}`, 1))
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => this.#obeySignal(signal))
    // The supervisor reads them. If it is gone, no process does, and the work must continue.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  }

  async run(): Promise<void> {
    const config = await this.#load()
    this.#program = await this.#host(config)
    if (this.#program !== null) this.#weigh(this.#program)
    // Its supervisor has counted since the process began.
    const leftMs = this.#assignment.startupMs - performance.now()
    systemClock.afterIfAlive(leftMs * PATIENCE_PART, () => this.#giveUpWaiting())
    this.#engine = await this.#open({ ...config, engine: { ...config.engine, ...this.#program?.engine } })
    if (this.#stopWithinMs !== undefined) return this.#end()
    if (this.#assignment.reports !== null) this.#reporter.follow(this.#engine, this.#assignment.reports)
    this.#worker = this.#work(this.#engine)
    this.#workersPhase = this.#worker.snapshot().phase
    this.#worker.onPhase((phase) => {
      this.#workersPhase = phase
      this.#onPhase()
    })
    this.#mayClaim()
  }

  /** A database that is locked, or away, is no fault of the worker's: it must not be killed for it as one that does not start. */
  #giveUpWaiting(): void {
    const isKnown = this.#worker?.hasSession === true || this.#workersPhase !== 'initializing'
    if (!isKnown) fail('the database did not answer in time', EXIT.database)
  }

  async #load(): Promise<Config> {
    try {
      return await loadConfig(this.#assignment.config)
    } catch (error) {
      return fail(messageOf(error), EXIT.configuration)
    }
  }

  /** The program of a foreign pool; its own frames say how it is, as soon as there is one. */
  async #host(config: Config): Promise<Hosted | null> {
    const { program, worker: componentId, frameEveryMs } = this.#assignment
    const health = new ForeignHealth({
      clock: systemClock,
      frameEveryMs,
      onHindrance: (hindrance) => this.#hindered(hindrance),
      onHung: () => this.#program?.kill(),
    })
    try {
      return await hostProgram(config, program ?? undefined, {
        componentId,
        onFrame: (frame) => {
          this.#programSays(programOf(frame))
          health.heard(frame)
        },
        onReplaced: () => {
          this.#programSays(null)
          health.forget()
        },
        onOutput: (line, stream) => (stream === 'stdout' ? console.log(line) : console.error(line)),
      })
    } catch (error) {
      // For want of descriptors or memory it is no mistake in the config: a failed start, which is tried again.
      return fail(messageOf(error), error instanceof InputError ? EXIT.configuration : 1)
    }
  }

  /** The memory that is told, and that `maxRss` bounds, is the program's. */
  #weigh(program: Hosted): void {
    const weigh = () => {
      this.#rss = program.rss()
      this.#say()
    }
    weigh()
    setInterval(weigh, this.#assignment.frameEveryMs).unref()
  }

  /** The supervisor hears it with the next frame. */
  #programSays(says: ProgramHealth | null): void {
    this.#programsHealth = says
    this.#say()
  }

  /** What cannot work claims nothing. Null: it can again. */
  #hindered(hindrance: Hindrance | null): void {
    this.#hindrance = hindrance
    this.#mayClaim()
  }

  #mayClaim(): void {
    if (this.#worker === undefined) return
    if (this.#paused) this.#worker.pause()
    else if (this.#hindrance !== null) this.#worker.pause(this.#hindrance.reason)
    else this.#worker.resume()
    this.#onPhase()
  }

  async #open(config: Config): Promise<Engine> {
    try {
      return await openProcess(config.engine, { startKeeper: this.#line.startKeeper })
    } catch (error) {
      return fail(messageOf(error), error instanceof StoreError ? EXIT.database : EXIT.configuration)
    }
  }

  #work(engine: Engine): Worker {
    const {
      worker: id,
      supervisor,
      avoid,
      queues,
      discoveries,
      concurrency,
      capabilities,
      strategies,
      resourceErrorLimit,
    } = this.#assignment
    engine.on('problem', ({ message: what, error }) => console.error(`${what}: ${messageOf(error)}`))
    try {
      return engine.work({
        id,
        supervisor,
        avoid,
        paused: this.#paused,
        watch: this.#line.board,
        capabilities,
        strategies,
        ...(resourceErrorLimit === null ? {} : { resourceErrorLimit }),
        ...(queues === null ? {} : { queues }),
        ...(discoveries === null || discoveries.length === 0 ? {} : { discoveries }),
        ...(concurrency === null ? {} : { concurrency }),
      })
    } catch (error) {
      return fail(messageOf(error), EXIT.configuration)
    }
  }

  /** Between idle and processing the keeper tells the difference: items may be short, and messages are not free. */
  #onPhase(): void {
    const phase = this.#phase()
    if (phase === 'stopping' && this.#worker?.failed) void this.#end()
    const reason = phase === 'backing_off' ? this.#reason() : null
    const told = { phase: phase === 'processing' ? 'idle' : phase, paused: this.#isPaused, reason } as const
    if (told.phase === this.#told.phase && told.paused === this.#told.paused && reason === this.#told.reason)
      return
    this.#told = told
    this.#say()
  }

  /** ReportedHealth only when the worker is: who hears it may rely on it that nothing more starts. */
  get #isPaused(): boolean {
    return this.#paused && this.#worker !== undefined
  }

  #phase(): Phase {
    if (this.#stopWithinMs !== undefined) return 'stopping'
    return this.#paused ? this.#workersPhase : (this.#hindrance?.phase ?? this.#workersPhase)
  }

  #reason(): string | null {
    if (!this.#paused && this.#hindrance !== null) return this.#hindrance.reason
    return this.#worker?.snapshot().reason ?? null
  }

  /** A frame tells how much was done, at most once a second: this alone wakes no thread. */
  #count(): void {
    const processed = this.#worker?.snapshot().counters.processed ?? 0
    if (processed === this.#counted) return
    this.#counted = processed
    this.#say()
  }

  #obey(control: Control): void {
    if (control.type === 'stop') return this.#stop(control.drainMs)
    this.#paused = control.type === 'pause'
    this.#mayClaim()
  }

  #obeySignal(signal: NodeJS.Signals): void {
    if (this.#stopWithinMs === undefined) console.error(`stopping: received ${signal}`)
    this.#stop(0)
  }

  /** A second request may allow less time. */
  #stop(drainMs: number): void {
    this.#stopWithinMs = drainMs
    this.#onPhase()
    void this.#worker?.stop({ drain: drainMs })
    if (this.#worker !== undefined) void this.#end()
  }

  #end(): Promise<void> {
    this.#stopping ??= this.#leave()
    return this.#stopping
  }

  async #leave(): Promise<void> {
    await this.#worker?.stop({ drain: this.#stopWithinMs })
    this.#reporter.flush()
    await this.#engine?.close()
    await this.#program?.stop()
    const failed = this.#worker?.failed ?? null
    if (failed !== null) fail(failed.message, exitOfFailed(failed))
    process.exit(EXIT.clean)
  }

  #say(): void {
    const { processed = 0, errors = 0, ...metrics } = this.#worker?.snapshot().counters ?? {}
    this.#line.say({
      ...this.#told,
      rss: this.#rss,
      processed,
      errors,
      metrics,
      program: this.#programsHealth,
    })
  }
}

function fail(why: string, code: number): never {
  console.error(why)
  process.exit(code)
}
