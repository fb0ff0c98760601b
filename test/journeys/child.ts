import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { quickStart } from '../quick-start/environment.ts'

/** One thing a child said: `{"event": "running", …}` on a line of its own. */
export interface Said {
  event: string
  [detail: string]: any
}

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
}

interface Listener {
  event: string
  matches: (said: Said) => boolean
  hear: (said: Said) => void
}

/** Generous: two cores may be shared by many test files. It only bounds a test that is failing anyway. */
const PATIENCE_MS = 25_000

/** A program of ours in a process of its own, and everything it says. */
export class Child {
  readonly ended: Promise<Ended>
  readonly said: Said[] = []
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #listeners = new Set<Listener>()
  #errors = ''

  /** `command` comes before node, e.g. a tracer. */
  constructor(program: string, argument: object, env: NodeJS.ProcessEnv = {}, command: string[] = []) {
    const [first, ...rest] = [...command, process.execPath, program, JSON.stringify(argument)]
    this.#process = spawn(first!, rest, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...quickStart(), GLEANER_CHILD: '1', ...env },
    })
    // A child that is gone cannot be told anything: not our trouble.
    this.#process.stdin.on('error', () => {})
    this.#process.stderr.on('data', (chunk) => {
      this.#errors += chunk
    })
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#hear(line))
    // 'close', not 'exit': only then has everything it said been read.
    this.ended = new Promise((resolve) =>
      this.#process.once('close', (code, signal) => resolve({ code, signal })),
    )
  }

  get pid(): number {
    return this.#process.pid!
  }

  get alive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null
  }

  /** What it wrote to stderr: empty, for a program that is well. */
  get errors(): string {
    return this.#errors
  }

  /** The first time that it says this, be it in the past or to come. */
  hears(event: string, matches: (said: Said) => boolean = () => true): Promise<Said> {
    const before = this.said.find((said) => said.event === event && matches(said))
    return before === undefined ? this.next(event, matches) : Promise.resolve(before)
  }

  /** The next time that it says this. */
  next(event: string, matches: (said: Said) => boolean = () => true): Promise<Said> {
    return new Promise((resolve, reject) => {
      const listener: Listener = { event, matches, hear: resolve }
      const never = (why: string) => {
        this.#listeners.delete(listener)
        reject(new Error(`"${event}" was never said: ${why}\n${this.#transcript()}`))
      }
      const impatience = setTimeout(() => never('it took too long'), PATIENCE_MS)
      void this.ended.then(({ code, signal }) => {
        if (this.#listeners.has(listener)) never(`the child ended with ${signal ?? code}`)
      })
      listener.hear = (said) => {
        clearTimeout(impatience)
        this.#listeners.delete(listener)
        resolve(said)
      }
      void this.ended.finally(() => clearTimeout(impatience))
      this.#listeners.add(listener)
    })
  }

  /** Everything of this kind so far. */
  all(event: string): Said[] {
    return this.said.filter((said) => said.event === event)
  }

  tell(word: string, details: object = {}): void {
    this.#process.stdin.write(`${JSON.stringify({ word, ...details })}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  async kill(): Promise<Ended> {
    if (this.alive) this.#process.kill('SIGKILL')
    return this.ended
  }

  #hear(line: string): void {
    if (!line.startsWith('{')) return
    const said = JSON.parse(line) as Said
    this.said.push(said)
    for (const listener of [...this.#listeners]) {
      if (listener.event === said.event && listener.matches(said)) listener.hear(said)
    }
  }

  #transcript(): string {
    return [...this.said.slice(-20).map((said) => JSON.stringify(said)), this.#errors].join('\n')
  }
}
