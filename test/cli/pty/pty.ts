import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { checkout } from '../../config/files.ts'
import { quickStart } from '../../quick-start/environment.ts'
import { Screen } from './screen.ts'

/** Generous: it only bounds a test that is failing anyway. */
const PATIENCE_MS = 40_000

/** `gleaner …` in a terminal of its own, with a person in front of it. */
export class Pty {
  readonly screen: Screen
  /** All that was ever written, as it was. */
  raw = ''
  readonly #child: ChildProcess
  readonly ended: Promise<{ code: number; restored: boolean }>
  #onChange: () => void = () => {}
  #trouble: unknown

  constructor(cwd: string, args: readonly string[], { columns = 100, rows = 30, env = {} } = {}) {
    this.screen = new Screen(columns, rows)
    const program = [process.execPath, join(checkout, 'src/cli/bin.ts'), ...args]
    const { GLEANER_DATABASE: _, NO_COLOR: __, ...inherited } = process.env
    this.#child = spawn(
      'python3',
      [join(import.meta.dirname, 'bridge.py'), `${columns}`, `${rows}`, ...program],
      {
        cwd,
        env: {
          ...inherited,
          TERM: 'xterm-256color',
          ...quickStart(),
          ...env,
        },
      },
    )
    let said = ''
    this.#child.stderr!.setEncoding('utf8').on('data', (chunk) => {
      said += chunk
    })
    this.#child.stdout!.setEncoding('utf8').on('data', (chunk) => this.#written(chunk))
    this.ended = once(this.#child, 'close').then(() => {
      this.#onChange()
      if (this.#trouble !== undefined) throw this.#trouble
      return JSON.parse(said.trim().split('\n').at(-1)!)
    })
    this.ended.catch(() => {})
    onTestFinished(async () => {
      if (this.#child.exitCode === null) this.#child.kill('SIGKILL')
      await this.ended.catch(() => {})
    })
  }

  type(keys: string): void {
    this.#child.stdin!.write(`${JSON.stringify({ keys })}\n`)
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows)
    this.#child.stdin!.write(`${JSON.stringify({ size: [columns, rows] })}\n`)
  }

  /** Now, or as soon as it does. */
  shows(pattern: RegExp | ((screen: Screen) => boolean)): Promise<void> {
    const isSo = () => (typeof pattern === 'function' ? pattern(this.screen) : pattern.test(this.screen.text))
    return new Promise((resolve, reject) => {
      const over = () =>
        reject(new Error(`it never showed ${pattern}:\n${this.screen.text}`, { cause: this.#trouble }))
      const impatience = setTimeout(over, PATIENCE_MS)
      this.#onChange = () => {
        if (!isSo()) return
        clearTimeout(impatience)
        resolve()
      }
      this.#onChange()
    })
  }

  #written(chunk: string): void {
    this.raw += chunk
    try {
      this.screen.write(chunk)
    } catch (error) {
      this.#trouble ??= error
    }
    this.#onChange()
  }
}
