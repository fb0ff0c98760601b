import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** A process of its own that runs a script, and speaks in lines; gone when the test is over. */
export class Child {
  readonly #process: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #lines: AsyncIterator<string>

  constructor(scriptUrl: string, ...args: string[]) {
    this.#process = spawn(process.execPath, [fileURLToPath(scriptUrl), ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#exited = once(this.#process, 'exit')
    this.#lines = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]()
    onTestFinished(() => this.kill())
  }

  /** When it says this. */
  async says(word: string): Promise<void> {
    const { value, done } = await this.#lines.next()
    if (done || value !== word)
      throw new Error(`the child was to say "${word}" and said ${done ? 'no more' : value}`)
  }

  /** It goes on when nobody holds its input any more. */
  letGo(): void {
    this.#process.stdin!.end()
  }

  /** When it has really ended. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exited
  }
}
