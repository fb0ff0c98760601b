import { existsSync, mkdirSync } from 'node:fs'
import { dirname, extname } from 'node:path'
import { loadConfig } from '../../config/load.ts'
import { openStoreOf } from '../../config/open-store.ts'
import type { Config, Pool } from '../../config/types.ts'
import type { LoadedFiles } from '../../process/loaded-files.ts'
import type { WorkReport } from '../../process/work-report.ts'
import { sqlitePath } from '../../store/by-url/open.ts'
import { withoutPassword } from '../console/database-name.ts'
import { wordsOf } from '../console/error-words.ts'
import { type Supervising, supervise } from '../console/supervising.ts'
import { colours, processTerminal } from '../console/terminal.ts'
import { packageVersion } from '../console/version.ts'
import { plural } from '../console/words.ts'
import { workLines } from '../text/work-line.ts'
import { isParseError, placeOf } from './code-place.ts'
import { DevLog } from './dev-log.ts'
import { type FromVersion, SETTING, type ToVersion, type VersionSetting } from './messages.ts'

/** A worker whose handlers ignore the signal is killed so soon after the drain. */
const TERM_MS = 500
const LAST_LINES_MS = 500

/** One version of the app, in a process of its own: loads the code, waits for its turn, and runs until it is told to stop. */
export async function runVersion(loaded: LoadedFiles): Promise<void> {
  const setting = JSON.parse(process.env[SETTING]!) as VersionSetting
  delete process.env[SETTING]
  await new VersionProcess(setting, loaded).run()
}

class VersionProcess {
  readonly #setting: VersionSetting
  readonly #loaded: LoadedFiles
  readonly #terminal
  readonly #log: DevLog
  readonly #turn = Promise.withResolvers<{ quietly: boolean }>()
  #supervising: Supervising | undefined
  #hasTurn = false
  /** It was told to stop before its workers were started. */
  #stopWithinMs: number | undefined

  constructor(setting: VersionSetting, loaded: LoadedFiles) {
    this.#setting = setting
    this.#loaded = loaded
    this.#terminal = { ...processTerminal(), ...colours(setting.colours) }
    this.#log = new DevLog(this.#terminal)
    process.on('message', (message: ToVersion) => {
      if (message.kind === 'go') {
        this.#hasTurn = true
        this.#turn.resolve(message)
      } else this.#stop(message.drainMs)
    })
    // `gleaner dev` was killed.
    process.once('disconnect', () => this.#stop(0))
  }

  async run(): Promise<void> {
    try {
      const config = withPool(await loadConfig(this.#setting.config))
      this.#loaded.flush()
      tell({ kind: 'programs', endings: endingsOf(config.pools) })
      tell({ kind: 'ready' })
      await this.#work(config, await this.#turn.promise)
      this.#exit(0)
    } catch (error) {
      this.#loaded.flush()
      const [message, hint] = wordsOf(error)
      const { style, cwd } = this.#terminal
      const place = placeOf(error, this.#loaded.files, cwd)
      const isHelpful = hint !== '' && !(place.length > 0 && isParseError(error))
      this.#log.error(message, ...place.map((line) => style('dim', line)), ...(isHelpful ? [hint] : []))
      this.#exit(1)
    }
  }

  async #work(config: Config, { quietly }: { quietly: boolean }): Promise<void> {
    const isNew = makeFolder(config)
    const store = await openStoreOf(config)
    try {
      if (!quietly) this.#introduce(config, isNew)
      this.#supervising = await supervise(store, config, {
        logger: this.#log.logger(this.#setting.verbose, (address) => tell({ kind: 'dashboard', address })),
        showToken: true,
        anotherPort: true,
        reports: 'everything',
        reportsFiles: true,
        forgets: true,
        onSettled: () => tell({ kind: 'running' }),
        onReport: (worker, report) => this.#report(worker, report),
      })
      if (this.#stopWithinMs !== undefined) this.#stop(this.#stopWithinMs)
      await this.#supervising.supervisor.ended
      await this.#supervising.close()
    } finally {
      await store.close()
    }
  }

  #report(worker: string, report: WorkReport): void {
    if (report.kind === 'loaded') return tell(report)
    const [line, ...below] = workLines(worker, report, this.#terminal)
    this.#log.say(line!, ...below)
  }

  #introduce({ engine, pools }: Config, isNew: boolean): void {
    const { style } = this.#terminal
    const shown = pools.map(({ name, processes }) => `${name} (${plural(processes, 'worker')})`)
    this.#log.plain(
      `${style('bold', `gleaner ${packageVersion()}`)} dev`,
      `  database  ${withoutPassword(engine.database)}${isNew ? ' (new)' : ''}`,
      `  pools     ${shown.join(', ')}`,
      '',
    )
  }

  #stop(drainMs: number): void {
    this.#stopWithinMs = drainMs
    if (this.#supervising === undefined) {
      // Before its turn it has started nothing. Afterwards it stops as soon as all is started.
      if (!this.#hasTurn) this.#exit(0)
      return
    }
    const { supervisor } = this.#supervising
    void supervisor.stop({ drain: drainMs })
    if (drainMs > 0) setTimeout(() => void supervisor.stop({ drain: 0 }), drainMs).unref()
  }

  /** What was printed last is still written, if anybody reads it. */
  #exit(code: number): void {
    process.exitCode = code
    if (process.connected) process.disconnect()
    setTimeout(() => process.exit(), LAST_LINES_MS).unref()
    process.stdout.write('', () => process.exit())
  }
}

function tell(message: FromVersion): void {
  if (process.connected) process.send?.(message)
}

/** Without pools, one worker process runs everything that the config names. Stubborn handlers are not waited for. */
function withPool(config: Config): Config {
  const { supervisor } = config
  const term = Math.min(supervisor.timings.term ?? TERM_MS, TERM_MS)
  // Each failure is in the log.
  const alerts = { ...config.alerts, errorRate: null }
  const pool: Pool = {
    name: 'dev',
    processes: 1,
    concurrency: 10,
    queues: undefined,
    discoveries: [],
    capabilities: {},
    strategies: {},
    resourceErrorLimit: undefined,
    program: undefined,
    maxRss: undefined,
    maxItems: undefined,
  }
  return {
    ...config,
    alerts,
    supervisor: { ...supervisor, timings: { ...supervisor.timings, term } },
    pools: config.pools.length > 0 ? config.pools : [pool],
  }
}

/** True: there is no database yet. */
function makeFolder({ engine }: Config): boolean {
  const file = sqlitePath(engine.database)
  if (file === undefined || file === ':memory:' || existsSync(file)) return false
  mkdirSync(dirname(file), { recursive: true })
  return true
}

/** `python3 worker.py`: a change of any `.py` file counts. */
function endingsOf(pools: readonly Pool[]): string[] {
  const words = pools.flatMap(({ program }) => program?.command.slice(1) ?? [])
  return [...new Set(words.map((word) => extname(word)).filter((ending) => /^\.[a-z]+$/i.test(ending)))]
}
