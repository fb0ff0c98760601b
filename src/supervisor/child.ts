import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import { type Assignment, assignmentEnv } from '../process/assignment.ts'
import { BoundedLines } from '../process/bounded-lines.ts'
import { type Control, encodeControl } from '../process/control.ts'
import type { Frame } from '../process/frame.ts'
import { FrameReader } from '../process/frame-reader.ts'
import { identify, type ProcessIdentity } from '../process-identity.ts'

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
  /** It could not even be started. */
  error: Error | null
}

export interface ChildEvents {
  frame(child: Child, frame: Frame): void
  exit(child: Child, exit: Exit): void
  line(child: Child, stream: 'stdout' | 'stderr', text: string): void
}

/** Node strips no types inside node_modules: as a package we are JavaScript, in the checkout TypeScript. */
const PROGRAM = new URL(`../process/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** Of a line that a worker prints, not more is kept. */
const LINE_MAX_CHARS = 16 * 1024

/** One process of a worker: its pipe, its group, its end. */
export class Child {
  readonly assignment: Assignment
  readonly exited: Promise<Exit>
  /** Which process it is, for as long as anybody remembers; null when it could not be started. */
  readonly identity: ProcessIdentity | null
  frame: Frame | null = null
  lastFrameAt: number | null = null
  /** For how long nothing was heard of it, and how old it is: of the time that we were there to listen. */
  silentMs = 0
  ageMs = 0
  ready = false
  /** Why we ended it; null: we did not ask it to. */
  ending: Ending | null = null
  readonly #process: ChildProcess
  readonly #reader: FrameReader
  /** Frames that were somebody else's. */
  #foreign = 0

  constructor(assignment: Assignment, env: NodeJS.ProcessEnv, events: ChildEvents) {
    this.assignment = assignment
    this.#reader = new FrameReader((frame) => this.#hear(frame, events))
    this.#process = spawn(process.execPath, [PROGRAM.pathname], {
      // A group of its own: Ctrl-C is ours to handle, and what it starts itself dies with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env, ...assignmentEnv(assignment) },
    })
    const { pid } = this.#process
    this.identity = pid === undefined ? null : identify(pid)
    this.exited = new Promise((resolve) => {
      const end = (exit: Exit) => {
        this.killGroup()
        events.exit(this, exit)
        resolve(exit)
      }
      this.#process.once('exit', (code, signal) => end({ code, signal, error: null }))
      this.#process.once('error', (error) => {
        if (pid === undefined) end({ code: null, signal: null, error })
      })
    })
    const [, stdout, stderr, pipe] = this.#process.stdio as unknown as [null, Readable, Readable, Duplex]
    pipe?.on('data', (chunk: Buffer) => this.#reader.add(chunk))
    for (const stream of [pipe, stdout, stderr]) stream?.on('error', () => {})
    for (const [name, stream] of Object.entries({ stdout, stderr })) {
      const tell = (text: string) => events.line(this, name as 'stdout' | 'stderr', text)
      const lines = new BoundedLines(LINE_MAX_CHARS, { onLine: tell, onTooLong: tell })
      stream?.on('data', lines.write)
      stream?.on('end', lines.end)
    }
  }

  get pid(): number | null {
    return this.#process.pid ?? null
  }

  get noise(): number {
    return this.#reader.noise + this.#foreign
  }

  get alive(): boolean {
    return this.pid !== null && this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** By what it ended, and how large it was when it was last heard of. */
  get signature(): string | undefined {
    const { signalCode, exitCode } = this.#process
    if (this.alive || (signalCode === null && exitCode === null)) return undefined
    const size = this.frame?.rss == null ? [] : [`${Math.round(this.frame.rss / 1e6)} MB`]
    return [signalCode ?? `exit code ${exitCode}`, `pid ${this.pid}`, ...size].join(', ')
  }

  tell(control: Control): void {
    const pipe = this.#process.stdio[3] as Duplex | undefined
    if (pipe?.writable) pipe.write(encodeControl(control))
  }

  /** To the process alone. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
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

  #hear(frame: Frame, events: ChildEvents): void {
    const { worker, incarnation } = this.assignment
    if (frame.componentId !== worker || (frame.incarnation ?? incarnation) !== incarnation) {
      this.#foreign += 1
      return
    }
    this.silentMs = 0
    this.frame = frame
    this.lastFrameAt = Date.now()
    events.frame(this, frame)
  }
}

export type Ending =
  | { kind: 'stop' | 'replaced' | 'hung' | 'start-up' | 'given-up' }
  /** Past its time-out, with a handler that lets nobody else have a turn. */
  | { kind: 'overdue'; items: readonly { item: string; fence: number; since: number }[] }
