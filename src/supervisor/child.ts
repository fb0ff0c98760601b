import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Duplex, Readable } from 'node:stream'
import { EXIT, type ExitRequest, type ProcessExit } from '../model/exit.ts'
import { type Assignment, assignmentEnv } from '../process/assignment.ts'
import { BoundedLines } from '../process/bounded-lines.ts'
import { type Control, encodeControl } from '../process/control.ts'
import { type Descendant, descendants, killDescendants, marked } from '../process/descendants.ts'
import type { Frame } from '../process/frame.ts'
import { FrameReader } from '../process/frame-reader.ts'
import type { WorkReport } from '../process/work-report.ts'
import { identify, type ProcessIdentity } from '../process-identity.ts'
import { asError } from '../thrown.ts'

export interface ChildEvents {
  frame(child: Child, frame: Frame): void
  exit(child: Child, exit: ProcessExit): void
  report(child: Child, report: WorkReport): void
  line(child: Child, stream: 'stdout' | 'stderr', text: string): void
  /** Of those that left its group. `killed`: with it; `left`: they go on. */
  descendants(child: Child, found: { killed: readonly Descendant[]; left: readonly Descendant[] }): void
}

/** Node strips no types inside node_modules: as a package we are JavaScript, in the checkout TypeScript. */
const PROGRAM = new URL(`../process/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** Of a line that a worker prints, not more is kept. */
const LINE_MAX_CHARS = 16 * 1024

/** One process of a worker: its pipe, its group, its exit. */
export class Child {
  readonly assignment: Assignment
  readonly exited: Promise<ProcessExit>
  /** Which process it is, for as long as anybody remembers; null when it could not be started. */
  identity: ProcessIdentity | null
  frame: Frame | null = null
  lastFrameAt: number | null = null
  /** For how long nothing was heard of it, and how old it is: of the time that we were there to listen. */
  silentMs = 0
  ageMs = 0
  ready = false
  /** Why its supervisor ends it. Null: it does not. */
  requested: ExitRequest | null = null
  /** Null when it could not be started. */
  readonly #process: ChildProcess | null
  readonly #reader: FrameReader
  /** In its environment, and so in that of all that it starts. */
  readonly #mark = randomUUID()
  /** Frames that were somebody else's. */
  #foreign = 0

  constructor(assignment: Assignment, env: NodeJS.ProcessEnv, events: ChildEvents) {
    this.assignment = assignment
    this.#reader = new FrameReader(
      (frame) => this.#hear(frame, events),
      undefined,
      (report) => events.report(this, report),
    )
    const { promise, resolve } = Promise.withResolvers<ProcessExit>()
    this.exited = promise
    const end = (how: Pick<ProcessExit, 'code' | 'signal' | 'error'>) => {
      const exit = this.#exit(how)
      this.killGroup()
      if (this.pid !== null) this.#endDescendants(exit, events)
      events.exit(this, exit)
      resolve(exit)
    }
    const started = startProcess({
      ...process.env,
      ...env,
      ...marked('GLEANER_PROCESS', this.#mark),
      ...assignmentEnv(assignment),
    })
    // Told later: nobody knows this child before its constructor has returned.
    started.failed.then((error) => end({ code: null, signal: null, error }))
    this.#process = started.process
    this.identity = started.process === null ? null : identify(started.process.pid!)
    if (started.process === null) return
    started.process.once('exit', (code, signal) => end({ code, signal, error: null }))
    this.#listen(started.process, events)
  }

  #listen({ stdio }: ChildProcess, events: ChildEvents): void {
    const [, stdout, stderr, pipe] = stdio as unknown as [null, Readable, Readable, Duplex]
    pipe.on('data', (chunk: Buffer) => this.#reader.add(chunk))
    for (const stream of [pipe, stdout, stderr]) stream.on('error', () => {})
    for (const [name, stream] of Object.entries({ stdout, stderr })) {
      const tell = (text: string) => events.line(this, name as 'stdout' | 'stderr', text)
      const lines = new BoundedLines(LINE_MAX_CHARS, { onLine: tell, onTooLong: tell })
      stream.on('data', lines.write)
      stream.on('end', lines.end)
    }
  }

  get pid(): number | null {
    return this.#process?.pid ?? null
  }

  get noise(): number {
    return this.#reader.noise + this.#foreign
  }

  get alive(): boolean {
    if (this.#process === null) return false
    return this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** By what it ended, and how large it was when it was last heard of. */
  get signature(): string | undefined {
    const { signalCode = null, exitCode = null } = this.#process ?? {}
    if (this.alive || (signalCode === null && exitCode === null)) return undefined
    const size = this.frame?.rss == null ? [] : [`${Math.round(this.frame.rss / 1e6)} MB`]
    return [signalCode ?? `exit code ${exitCode}`, `pid ${this.pid}`, ...size].join(', ')
  }

  tell(control: Control): void {
    const pipe = this.#process?.stdio[3] as Duplex | undefined
    if (pipe?.writable) pipe.write(encodeControl(control))
  }

  /** To the process alone. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }

  /** Everybody in its group: also what it has started, when it is dead itself. */
  killGroup(): void {
    if (this.pid === null) return
    try {
      process.kill(-this.pid, 'SIGKILL')
    } catch {
      // Nobody is left.
    }
  }

  /**
   * What it has started and what left its group with setsid: their items are about to be given back, and must not be worked
   * on twice. A worker that ended in order may have started a service on purpose.
   */
  #endDescendants({ code }: ProcessExit, events: ChildEvents): void {
    const found =
      code === EXIT.clean
        ? { killed: [], left: descendants('GLEANER_PROCESS', this.#mark) }
        : killDescendants('GLEANER_PROCESS', this.#mark)
    if (found.killed.length + found.left.length > 0) events.descendants(this, found)
  }

  #exit(how: Pick<ProcessExit, 'code' | 'signal' | 'error'>): ProcessExit {
    const { requested, ready, frame } = this
    const { currentJob = null, current = [], processed } = frame ?? {}
    return { ...how, requested, ready, currentJob, held: current.length, processed: processed ?? 0 }
  }

  #hear(frame: Frame, events: ChildEvents): void {
    const { worker, incarnation } = this.assignment
    if (frame.componentId !== worker || (frame.incarnation ?? incarnation) !== incarnation) {
      this.#foreign += 1
      return
    }
    // Its start time could not be read when all of our descriptors were in use.
    if (this.alive && this.identity?.startTime === null) this.identity = identify(this.pid!)
    this.silentMs = 0
    this.frame = frame
    this.lastFrameAt = Date.now()
    events.frame(this, frame)
  }
}

/**
 * `failed` is told when there is no process: no program, no memory, no process number or descriptor is left. Node reports
 * some of that by an event and some by throwing, and a child without descriptors has no pipes.
 */
function startProcess(env: NodeJS.ProcessEnv): { process: ChildProcess | null; failed: Promise<Error> } {
  const { promise: failed, resolve } = Promise.withResolvers<Error>()
  try {
    const child = spawn(process.execPath, [PROGRAM.pathname], {
      // A group of its own: Ctrl-C is ours to handle, and what it starts itself dies with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env,
    })
    if (child.pid === undefined) child.once('error', resolve)
    else child.on('error', () => {})
    return { process: child.pid === undefined ? null : child, failed }
  } catch (error) {
    resolve(asError(error))
    return { process: null, failed }
  }
}
