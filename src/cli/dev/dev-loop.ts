import { dirname, relative } from 'node:path'
import type { Terminal } from '../console/terminal.ts'
import { durationText, plural } from '../console/words.ts'
import { DevLog } from './dev-log.ts'
import type { VersionSetting } from './messages.ts'
import { WatchedSources } from './sources.ts'
import { Version } from './version.ts'

/** What a restart gives running items to finish. */
const DRAIN_MS = 500

/** Runs the app, and after each change of its code the next version of it. A version that does not load replaces nothing. */
export class DevLoop {
  readonly #setting: VersionSetting
  readonly #terminal: Terminal
  readonly #log: DevLog
  readonly #sources: WatchedSources
  readonly #end = Promise.withResolvers<number>()
  /** The version that runs, or is being stopped. */
  #current: Version | undefined
  /** The version that is to replace it. */
  #next: Version | undefined
  #isStopping = false
  #dashboard: string | undefined
  #hasRun = false

  constructor(setting: VersionSetting, terminal: Terminal) {
    this.#setting = setting
    this.#terminal = terminal
    this.#log = new DevLog(terminal)
    this.#sources = new WatchedSources(dirname(setting.config), {
      changed: (files) => this.#changed(files),
      problem: (message) => this.#log.warn(message),
    })
  }

  /** Resolves with the exit code when it was stopped. */
  run(): Promise<number> {
    void this.#replace()
    return this.#end.promise
  }

  async stop(drainMs = DRAIN_MS): Promise<void> {
    this.#isStopping = true
    this.#sources.close()
    this.#next?.discard()
    await this.#current?.stop(drainMs)
    this.#log.say('stopped')
    this.#end.resolve(0)
  }

  #changed(files: readonly string[]): void {
    if (this.#isStopping) return
    const [first, ...others] = files.map((file) => relative(this.#terminal.cwd, file))
    const more = others.length === 0 ? '' : ` and ${plural(others.length, 'other file')}`
    this.#log.say(this.#terminal.style('cyan', `↻ ${first}${more} changed`))
    void this.#replace()
  }

  /** The next version loads its code while the current one still works. */
  async #replace(): Promise<void> {
    this.#next?.discard()
    this.#sources.loads()
    const next = new Version(this.#setting, (message) => {
      if (message.kind === 'loaded') this.#sources.loaded(message.files)
      if (message.kind === 'dashboard') this.#showDashboard(message.address)
      if (message.kind === 'programs') this.#sources.programs(message.endings)
    })
    this.#next = next
    const isReady = await next.ready
    if (this.#next !== next || this.#isStopping) return
    if (!isReady) this.#refused()
    this.#sources.hasLoaded(isReady)
    if (!isReady) return
    await this.#current?.stop(DRAIN_MS)
    if (this.#next !== next || this.#isStopping) return next.discard()
    this.#current = next
    this.#next = undefined
    void this.#follow(next)
  }

  async #follow(version: Version): Promise<void> {
    version.go(this.#hasRun)
    if (await version.running) {
      const took = durationText(Date.now() - version.startedAt)
      const watched = `watching ${plural(this.#sources.count, 'file')} for changes; Ctrl-C stops`
      this.#log.good(this.#hasRun ? `restarted in ${took}` : `started in ${took}; ${watched}`)
      this.#hasRun = true
    }
    const code = await version.ended
    if (version.wasStopped || this.#current !== version) return
    this.#current = undefined
    if (!this.#hasRun) {
      this.#sources.close()
      return this.#end.resolve(code ?? 1)
    }
    this.#log.error(`everything has stopped (exit code ${code}). Save a file to start again.`)
  }

  #showDashboard(address: string): void {
    if (this.#dashboard !== address) this.#log.good(`dashboard: ${address}`)
    this.#dashboard = address
  }

  #refused(): void {
    this.#next = undefined
    const isWorking = this.#current !== undefined && !this.#current.wasStopped
    this.#log.say(
      this.#terminal.style(
        'yellow',
        isWorking
          ? 'the version before keeps running; save the fix to replace it'
          : 'nothing runs; save the fix to start',
      ),
    )
  }
}
