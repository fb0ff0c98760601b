import { until } from '../../until.ts'
import { Cluster, FORGETFUL, hasDebian } from './cluster.ts'

const OPTIONS = { settings: [...FORGETFUL, 'wal_level=replica', 'hot_standby=on'], debian: true }

/** A primary and its synchronous standby. */
export class Pair {
  #primary: Cluster
  #standby: Cluster
  /** Of the primary that died: the next standby takes its place. */
  #freed = 0

  static async start(): Promise<Pair> {
    if (!hasDebian) throw new Error('promotions need PostgreSQL 15 of Debian: apt-get install postgresql-15')
    const primary = await Cluster.start(OPTIONS)
    const pair = new Pair(primary, await Cluster.standbyOf(primary, OPTIONS))
    await pair.#wait()
    return pair
  }

  private constructor(primary: Cluster, standby: Cluster) {
    this.#primary = primary
    this.#standby = standby
  }

  get primary(): Cluster {
    return this.#primary
  }

  /** Of both: whichever of them takes writes. */
  get url(): string {
    const hosts = [this.#primary, this.#standby].map(({ port }) => `127.0.0.1:${port}`)
    return `postgres://gleaner@${hosts}/postgres?target_session_attrs=read-write`
  }

  /** The primary dies, and its standby takes its place. Nothing waits for a standby then, as there is none. */
  async failOver(): Promise<void> {
    const dead = this.#primary
    await dead.kill()
    await this.#standby.promote()
    this.#primary = this.#standby
    this.#freed = dead.port
    await dead.remove()
  }

  async rebuildStandby(): Promise<void> {
    this.#standby = await Cluster.standbyOf(this.#primary, { ...OPTIONS, port: this.#freed })
    await this.#wait()
  }

  /** From now on a commit is only answered when the standby has applied it. */
  async #wait(): Promise<void> {
    const primary = this.#primary
    const statusOf = async (column: string) =>
      (await primary.rows(`SELECT ${column} AS is FROM pg_stat_replication`))[0]?.is
    await until('the standby follows', async () => (await statusOf('state')) === 'streaming')
    await primary.rows(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await primary.rows(`ALTER SYSTEM SET synchronous_commit = 'remote_apply'`)
    await primary.rows('SELECT pg_reload_conf()')
    await until('the standby is synchronous', async () => (await statusOf('sync_state')) === 'sync')
  }

  async remove(): Promise<void> {
    await Promise.all([this.#primary.remove(), this.#standby.remove()])
  }
}
