import { type ChildProcess, fork } from 'node:child_process'
import { type FromVersion, SETTING, type ToVersion, type VersionSetting } from './messages.ts'

/** Node strips no types inside node_modules: as a package we are JavaScript, in the checkout TypeScript. */
const PROGRAM = new URL(`./version-process.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** After the drain and the kill of its workers, a version leaves the database. */
const LEAVE_MS = 10_000

/** One version of the code: a process that loads it, and runs everything when it is told to go. */
export class Version {
  /** False: its code or its config has an error, which it has printed. */
  readonly ready: Promise<boolean>
  readonly running: Promise<boolean>
  readonly ended: Promise<number | null>
  readonly startedAt = Date.now()
  wasStopped = false
  readonly #process: ChildProcess
  #stopping: Promise<void> | undefined

  constructor(setting: VersionSetting, onMessage: (message: FromVersion) => void) {
    this.#process = fork(PROGRAM, {
      // Ctrl-C in the terminal reaches `gleaner dev` alone, which stops the version in order.
      detached: true,
      execArgv: process.execArgv,
      env: { ...process.env, [SETTING]: JSON.stringify(setting) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const ready = Promise.withResolvers<boolean>()
    const running = Promise.withResolvers<boolean>()
    this.#process.on('message', (message: FromVersion) => {
      if (message.kind === 'ready') ready.resolve(true)
      if (message.kind === 'running') running.resolve(true)
      onMessage(message)
    })
    const ended = Promise.withResolvers<number | null>()
    const end = (code: number | null) => {
      ready.resolve(false)
      running.resolve(false)
      ended.resolve(code)
    }
    this.#process.once('error', () => end(null))
    this.#process.once('exit', end)
    this.ready = ready.promise
    this.running = running.promise
    this.ended = ended.promise
  }

  go(quietly: boolean): void {
    this.#tell({ kind: 'go', quietly })
  }

  /** Workers finish what they can within the drain time. The rest goes back and loses no attempt. */
  stop(drainMs: number): Promise<void> {
    this.wasStopped = true
    this.#tell({ kind: 'stop', drainMs })
    this.#stopping ??= this.#gone()
    return this.#stopping
  }

  /** For a version that has started nothing yet. */
  discard(): void {
    this.wasStopped = true
    this.#process.kill('SIGKILL')
  }

  async #gone(): Promise<void> {
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), LEAVE_MS)
    await this.ended
    clearTimeout(timer)
  }

  #tell(message: ToVersion): void {
    if (this.#process.connected) this.#process.send(message, () => {})
  }
}
