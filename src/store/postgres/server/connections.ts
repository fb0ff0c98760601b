import type pg from 'pg'

/**
 * A pool of which one connection is kept for whoever comes again and again with the same statements. There the server has
 * planned them, and knows their tables; on any other the first few take it ten milliseconds each, which is what an idle
 * worker would take longer to begin. It counts as one of the pool, and whoever finds no other gets it.
 */
export class Connections {
  readonly #pool: pg.Pool
  readonly #max: number
  /** At rest. */
  #kept: pg.PoolClient | undefined

  constructor(pool: pg.Pool, max: number) {
    this.#pool = pool
    this.#max = max
  }

  async open(isRegular: boolean): Promise<pg.PoolClient> {
    const kept = this.#kept
    if (kept === undefined || !(isRegular || this.#areTaken)) return this.#pool.connect()
    this.#kept = undefined
    kept.off('error', this.#onError)
    return kept
  }

  close(client: pg.PoolClient, broken: Error | undefined, isRegular: boolean): void {
    const isKept = isRegular && broken === undefined && this.#kept === undefined
    if (!isKept || this.#pool.waitingCount > 0 || this.#pool.ending) return client.release(broken)
    this.#kept = client
    client.on('error', this.#onError)
  }

  query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (this.#areTaken) this.#letGo()
    return this.#pool.query(query)
  }

  async end(): Promise<void> {
    const ended = this.#pool.end()
    this.#letGo()
    await ended
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
