import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { checkout } from '../config/files.ts'
import { quickStart } from '../quick-start/environment.ts'

/** Generous: it only bounds a test that is failing anyway. */
const PATIENCE_MS = 25_000

interface Place {
  cwd: string
  env: NodeJS.ProcessEnv
  /** Default: it ends with the test. */
  whenOver?: (end: () => Promise<void>) => void
}

/** `gleaner …` as a real process in a folder, and what it says. */
export class Journey {
  readonly child: ChildProcess
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  said = ''
  readonly #heard = new Set<() => void>()

  constructor(place: string | Place, ...args: string[]) {
    const { GLEANER_DATABASE: _, ...inherited } = process.env
    const {
      cwd,
      env,
      whenOver = onTestFinished,
    }: Place = typeof place === 'string' ? { cwd: place, env: {} } : place
    this.child = spawn(process.execPath, [join(checkout, 'src/cli/bin.ts'), ...args], {
      cwd,
      env: {
        ...inherited,
        ...env,
        ...quickStart(),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.on('data', (chunk) => {
        this.said += chunk
        for (const heard of this.#heard) heard()
      })
    }
    this.ended = once(this.child, 'close').then(([code, signal]) => ({ code, signal }))
    whenOver(async () => {
      if (this.child.exitCode === null) this.child.kill('SIGKILL')
      await this.ended
    })
  }

  /** The first time that it has said this, be it in the past or to come. */
  hears(pattern: RegExp): Promise<RegExpMatchArray> {
    return new Promise((resolve, reject) => {
      const over = (why: string) =>
        done(() => reject(new Error(`it never said ${pattern}: ${why}\n${this.said}`)))
      const impatience = setTimeout(() => over('it took too long'), PATIENCE_MS)
      const done = (then: () => void) => {
        clearTimeout(impatience)
        this.#heard.delete(look)
        then()
      }
      const look = () => {
        const match = this.said.match(pattern)
        if (match !== null) done(() => resolve(match))
      }
      this.#heard.add(look)
      void this.ended.then(() => {
        look()
        if (this.#heard.has(look)) over('it ended')
      })
      look()
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }
}
