import { tmpdir } from 'node:os'
import pg from 'pg'
import { startPostgres } from '../../postgres-process.ts'
import { until } from '../../until.ts'

/** What was committed without a sync stays in memory for long, so that a crash forgets it for certain. */
const SETTINGS = ['wal_writer_delay=10s', 'wal_writer_flush_after=1GB', 'max_connections=50', 'fsync=off']

/** A PostgreSQL server of the test's own that can be crashed. */
export class ForgetfulServer {
  readonly url: string
  readonly #stop: () => Promise<void>

  static async start(): Promise<ForgetfulServer> {
    const flags = SETTINGS.flatMap((setting) => ['-c', setting])
    const { url, stop } = await startPostgres(tmpdir(), flags)
    return new ForgetfulServer(url, stop)
  }

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url
    this.#stop = stop
  }

  async rows(sql: string): Promise<Record<string, unknown>[]> {
    const client = await this.#connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  /** Everything that was committed until now survives a crash. */
  async sync(): Promise<void> {
    await this.rows('CREATE TABLE IF NOT EXISTS synced (); DROP TABLE synced')
  }

  /** Kills one of its processes, as the system does when memory is short: it then ends all others, and recovers from its log. */
  async crash(): Promise<void> {
    const client = await this.#connect()
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    const witness = await this.#connect()
    const ended = new Promise<void>((resolve) => witness.once('end', () => resolve()))
    process.kill(rows[0].pid, 'SIGKILL')
    // Until the server has noticed the death, it goes on as before.
    await ended
    await until('the server is back', () =>
      this.rows('SELECT 1').then(
        () => true,
        () => false,
      ),
    )
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  async stop(): Promise<void> {
    await this.#stop()
  }
}
