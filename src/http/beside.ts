import { systemClock } from '../clock.ts'
import type { Config, ServerSettings } from '../config/types.ts'
import type { Gleaner } from '../engine/gleaner.ts'
import { openEngine } from '../engine/open.ts'
import type { Timeline } from '../model/timeline.ts'
import type { Store } from '../store/ports/store.ts'
import type { Logger } from '../supervisor/logger.ts'
import { type OwnToken, ownToken } from './own-token.ts'
import { PORT, type RunningServer, type ServeOptions, serve } from './serve.ts'

const TRY_AGAIN_MS = 5_000
const PORTS_TRIED = 10

export interface Beside {
  logger: Logger
  timeline: Timeline
  /** False for logs that are collected: they name the file of the token instead. */
  showToken: boolean
  /** If the port is in use, the next free one. */
  anotherPort?: boolean
}

/**
 * The server of a config, beside a supervisor and on its store. A port that is taken is no reason not to work: it is said, and
 * tried again. The answer ends it, and leaves the store to whoever opened it.
 */
export async function serveBeside(
  store: Store,
  config: Config,
  beside: Beside,
): Promise<() => Promise<void>> {
  const { logger, timeline } = beside
  const { server } = config
  if (server === null) return async () => {}
  const { database: _database, postgres: _postgres, ...options } = config.engine
  const unclosed = { ...store, close: async () => {} }
  const gleaner = await openEngine({ store: unclosed, clock: systemClock, random: Math.random }, options)
  gleaner.on('problem', ({ message, error }) => logger.warn({ err: error }, message))
  try {
    const own = ownTokenFor(server, config.engine.database)
    const tokens =
      own === null ? server.tokens : [{ name: 'owner', role: 'operator', token: own.token } as const]
    const options: ServeOptions = { ...server, tokens, alerts: config.alerts, timeline }
    const serving = new Serving(
      () => (beside.anotherPort ? serveOnFreePort(gleaner, options) : serve(gleaner, options)),
      (running) => tellAddress(running, server, own, beside),
      logger,
    )
    await serving.start()
    return async () => {
      await serving.stop()
      await gleaner.close()
    }
  } catch (error) {
    await gleaner.close()
    throw error
  }
}

/** Null: the config says who may call it. */
function ownTokenFor({ tokens, authorize, local }: ServerSettings, database: string): OwnToken | null {
  return tokens.length > 0 || authorize !== undefined || local ? null : ownToken(database)
}

function tellAddress(
  { url, port }: RunningServer,
  { local }: ServerSettings,
  own: OwnToken | null,
  { logger, showToken }: Beside,
): void {
  logger.info({ url }, `serving ${url}`)
  const isEverywhere = /\/\/(0\.0\.0\.0|\[::\]):/.test(url)
  const page = isEverywhere ? `http://127.0.0.1:${port}` : url
  const dashboard = own !== null && showToken ? `${page}/#token=${own.token}` : `${page}/`
  logger.info({ dashboard }, `dashboard: ${dashboard}${signIn(own, showToken, local)}`)
}

function signIn(own: OwnToken | null, showToken: boolean, local: boolean): string {
  if (own === null) return local ? '' : ' (sign in as the config says)'
  return showToken || own.file === null ? '' : ` (the token is in ${own.file})`
}

/** The address is printed, so it may be another one than in the config. */
async function serveOnFreePort(gleaner: Gleaner, options: ServeOptions): Promise<RunningServer> {
  const first = options.port ?? PORT
  for (let port = first; port < first + PORTS_TRIED; port++) {
    try {
      return await serve(gleaner, { ...options, port })
    } catch (error) {
      if (!isTaken(error)) throw error
    }
  }
  return serve(gleaner, options)
}

class Serving {
  readonly #open: () => Promise<RunningServer>
  readonly #onRunning: (running: RunningServer) => void
  readonly #logger: Logger
  #running: RunningServer | undefined
  #cancel: () => void = () => {}
  #stopped = false

  constructor(
    open: () => Promise<RunningServer>,
    onRunning: (running: RunningServer) => void,
    logger: Logger,
  ) {
    this.#open = open
    this.#onRunning = onRunning
    this.#logger = logger
  }

  async start(): Promise<void> {
    try {
      this.#running = await this.#open()
    } catch (error) {
      if (!isTaken(error)) throw error
      this.#logger.warn({}, `${(error as Error).message} The server retries every ${TRY_AGAIN_MS / 1_000} s.`)
      this.#cancel = systemClock.afterIfAlive(TRY_AGAIN_MS, () => void this.#again())
      return
    }
    this.#onRunning(this.#running)
    if (this.#stopped) await this.#running.close()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#running?.close()
  }

  async #again(): Promise<void> {
    await this.start().catch((err) => this.#logger.error({ err }, 'the server could not be started'))
  }
}

function isTaken(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } }
  return cause?.code === 'EADDRINUSE'
}
