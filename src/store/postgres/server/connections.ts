import type pg from 'pg'
import { isElsewhere } from './sql-errors.ts'

/** A worker that did nothing for that long is idle. */
const RESTED_MS = 500
/** Most statements take a millisecond, and a new connection takes ten: an idle process waits that long for one that is taken. */
const PATIENCE_MS = 5

/**
 * A pool of which one connection is kept for whoever comes again and again with the same statements. There the server has
 * planned them, and knows their tables; on any other the first few take it ten milliseconds each, which is what an idle
 * worker would take longer to begin. It counts as one of the pool, and whoever finds no other gets it. While the worker is
 * idle everything goes by it, so that the others may end: a server has few connections.
 */
export class Connections {
  readonly #pool: pg.Pool
  readonly #max: number
  /** At rest. */
  #kept: pg.PoolClient | undefined
  #keptSinceMs = 0
  /** The one that is kept, in other use. */
  #lent: pg.PoolClient | undefined
  /** Called when a connection is free. */
  readonly #waiting: (() => void)[] = []

  constructor(pool: pg.Pool, max: number) {
    this.#pool = pool
    this.#max = max
  }

  async open(isRegular: boolean): Promise<pg.PoolClient> {
    const kept = this.#takeKept(isRegular)
    if (kept !== undefined) return kept
    const isEachTaken = this.#pool.idleCount === 0 && this.#pool.totalCount > 0 && this.#kept === undefined
    if (isEachTaken && this.#hasRested) await this.#freed()
    return this.#takeKept(isRegular) ?? this.#connected()
  }

  #takeKept(isRegular: boolean): pg.PoolClient | undefined {
    const kept = this.#kept
    if (kept === undefined || !(isRegular || this.#areTaken || this.#hasRested)) return undefined
    this.#kept = undefined
    if (!isRegular) this.#lent = kept
    kept.off('error', this.#onError)
    return kept
  }

  /** Resolves when one is free, or when it is time to open another. */
  async #freed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, PATIENCE_MS)
    this.#waiting.push(resolve)
    await promise
    clearTimeout(timer)
    const at = this.#waiting.indexOf(resolve)
    if (at !== -1) this.#waiting.splice(at, 1)
  }

  /** The server may have been elsewhere: then it is looked for once. */
  #connected(): Promise<pg.PoolClient> {
    return this.#pool.connect().catch((error) => {
      if (!isElsewhere(error)) throw error
      return this.#pool.connect()
    })
  }

  close(client: pg.PoolClient, broken: Error | undefined, isRegular: boolean): void {
    this.#close(client, broken, isRegular)
    this.#waiting.shift()?.()
  }

  #close(client: pg.PoolClient, broken: Error | undefined, isRegular: boolean): void {
    const isLent = client === this.#lent
    if (isLent) this.#lent = undefined
    const isKept = (isRegular || isLent) && broken === undefined && this.#kept === undefined
    if (!isKept || this.#waiting.length + this.#pool.waitingCount > 0 || this.#pool.ending)
      return client.release(broken)
    if (isRegular) this.#keptSinceMs = performance.now()
    this.#kept = client
    client.on('error', this.#onError)
  }

  async end(): Promise<void> {
    const ended = this.#pool.end()
    this.#letGo()
    await ended
  }

  get #hasRested(): boolean {
    return performance.now() - this.#keptSinceMs >= RESTED_MS
  }

  get #areTaken(): boolean {
    return this.#pool.idleCount === 0 && this.#pool.totalCount >= this.#max
  }

  #letGo(broken?: Error): void {
    const kept = this.#kept
    this.#kept = undefined
    kept?.off('error', this.#onError)
    kept?.release(broken)
  }

  /** It broke while it rested; whoever needs one next opens another. */
  readonly #onError = (error: Error): void => this.#letGo(error)
}
