import { systemClock } from '../clock.ts'
import type { Config } from '../config/types.ts'
import { openEngine } from '../engine/open.ts'
import type { Timeline } from '../model/timeline.ts'
import type { Store } from '../store/contract.ts'
import type { Logger } from '../supervisor/logger.ts'
import { type RunningServer, type ServeOptions, serve } from './serve.ts'

const TRY_AGAIN_MS = 5_000

/**
 * The server of a config, beside a supervisor and on its store. A port that is taken is no reason not to work: it is said, and
 * tried again. The answer ends it, and leaves the store to whoever opened it.
 */
export async function serveBeside(
  store: Store,
  config: Config,
  logger: Logger,
  timeline: Timeline,
): Promise<() => Promise<void>> {
  const { server } = config
  if (server === null) return async () => {}
  const { database: _database, postgres: _postgres, ...options } = config.engine
  const unclosed = { ...store, close: async () => {} }
  const gleaner = await openEngine({ store: unclosed, clock: systemClock, random: Math.random }, options)
  const { host, port, token, viewerToken, hosts, redact } = server
  const tokens = { operator: token, viewer: viewerToken }
  const serving = new Serving(
    () =>
      serve(gleaner, {
        host,
        port,
        tokens,
        hosts,
        redact,
        alerts: config.alerts,
        timeline,
      } satisfies ServeOptions),
    logger,
  )
  try {
    await serving.start()
  } catch (error) {
    await gleaner.close()
    throw error
  }
  return async () => {
    await serving.stop()
    await gleaner.close()
  }
}

class Serving {
  readonly #open: () => Promise<RunningServer>
  readonly #logger: Logger
  #running: RunningServer | undefined
  #cancel: () => void = () => {}
  #stopped = false

  constructor(open: () => Promise<RunningServer>, logger: Logger) {
    this.#open = open
    this.#logger = logger
  }

  async start(): Promise<void> {
    try {
      this.#running = await this.#open()
    } catch (error) {
      if (!isTaken(error)) throw error
      this.#logger.warn({}, `${(error as Error).message} It will be tried again.`)
      this.#cancel = systemClock.afterIfAlive(TRY_AGAIN_MS, () => void this.#again())
      return
    }
    this.#logger.info({ url: this.#running.url }, `serving ${this.#running.url}`)
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
