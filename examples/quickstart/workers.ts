// `gleaner start`, as you would type it in a second terminal.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const config = join(import.meta.dirname, 'gleaner.config.ts')
/** In your own project: npx gleaner start. */
const gleaner = join(import.meta.dirname, '../../src/cli/bin.ts')

export class Workers {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown[]>
  #complaints = ''

  /** With a server, it shows the dashboard there. */
  constructor(database: string, server: { port: number; token: string } | null) {
    // It ends when its stdin does: also when this program is killed.
    this.#child = spawn(process.execPath, [gleaner, 'start', '--attached', '--quiet', '--config', config], {
      env: {
        ...process.env,
        GLEANER_DATABASE: database,
        QUICKSTART_RUN: String(process.pid),
        ...(server === null ? {} : { QUICKSTART_PORT: String(server.port), GLEANER_TOKEN: server.token }),
      },
      stdio: ['pipe', 'ignore', 'pipe'],
      // Out of reach of Ctrl-C, which is for this program.
      detached: true,
    })
    this.#child.stdin?.on('error', () => {})
    this.#child.stderr?.on('data', (chunk) => {
      this.#complaints += chunk
    })
    this.#ended = once(this.#child, 'close')
  }

  /** Rejects when it ends by itself, because then no worker runs. */
  async failed(): Promise<never> {
    const [code] = await this.#ended
    throw new Error(`gleaner start ended with ${code}:\n${this.#complaints}`)
  }

  /** What runs gets two seconds to finish; the rest goes back and costs no attempt. */
  async stop(): Promise<void> {
    this.#child.stdin?.end()
    await this.#ended
  }
}
