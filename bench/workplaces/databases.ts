import { existsSync, readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { installedVersions } from '../machine.ts'
import type { Stage } from '../processes.ts'
import { startServer } from './postgres-server.ts'
import { processorMs } from './processor-time.ts'
import { isRedisContender, openRedis } from './redis.ts'
import { fillPlace, stockroom } from './stockroom.ts'
import type { Facts, Grounds, Place, WorkplaceOptions } from './workplace.ts'

const PEERS = ['graphile-worker', 'pg-boss', 'bullmq', 'pg']
const SHOWN = [
  'synchronous_commit',
  'fsync',
  'full_page_writes',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'autovacuum',
  'max_connections',
]

/**
 * One server for everybody, a database of its own for every measurement; filled ones are copied. The tasks of whoever
 * keeps them in Redis are looked after by `redis.ts`.
 */
export async function openDatabases(home: string, stage: Stage, options: WorkplaceOptions): Promise<Grounds> {
  // The server may run as a user of its own, who has to get to its data.
  await chmod(home, 0o755)
  const server = await startServer(home, options)
  const admin = new pg.Pool({ connectionString: server.url, max: 4 })
  // One that rests may still be open when the server is stopped.
  admin.on('error', () => {})
  const redis = openRedis(home, stage)
  const postmaster = await postmasterOf(admin)
  const name = numbered(`bench_${process.pid}`)

  /** With a file copy the server writes everything to disk before and after it, so nobody inherits pages to write. */
  async function create(template?: string): Promise<Place> {
    const database = name()
    const source = template === undefined ? '' : ` TEMPLATE ${template} STRATEGY FILE_COPY`
    await admin.query(`CREATE DATABASE ${database}${source}`)
    await admin.query('CHECKPOINT')
    return {
      address: addressOf(server.url, database),
      serverMs: () => processorMs(postmaster),
      remove: async () => void (await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)),
    }
  }

  const templateOf = stockroom(async (stock) => {
    const { address } = await create()
    await fillPlace(stage, stock, address)
    await tidy(address)
    return new URL(address).pathname.slice(1)
  })

  return {
    facts: await factsOf(admin),
    fresh: (contender) => (isRedisContender(contender) ? redis.fresh() : create()),
    stocked: async (stock) =>
      isRedisContender(stock.contender) ? redis.stocked(stock) : create(await templateOf(stock)),
    async close() {
      await admin.end()
      await server.stop()
    },
  }
}

/** For everybody alike, once: autovacuum would otherwise come to some of the copies in the middle of a measurement. */
async function tidy(address: string): Promise<void> {
  const client = new pg.Client(address)
  await client.connect()
  await client.query('VACUUM (ANALYZE)')
  await client.end()
}

async function factsOf(admin: pg.Pool): Promise<Facts> {
  const settings: Record<string, string> = {}
  for (const setting of SHOWN) {
    settings[setting] = (await admin.query(`SHOW ${setting}`)).rows[0][setting]
  }
  const { server_version } = (await admin.query('SHOW server_version')).rows[0]
  return { versions: { PostgreSQL: server_version, ...installedVersions(PEERS) }, settings }
}

/** The first line of its file; 0 for a server of another machine, whose processor nobody here can read. */
async function postmasterOf(admin: pg.Pool): Promise<number> {
  const { data_directory } = (await admin.query('SHOW data_directory')).rows[0]
  const file = join(data_directory, 'postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0
}

function addressOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl)
  url.pathname = database
  return url.href
}

function numbered(prefix: string): () => string {
  let last = 0
  return () => `${prefix}_${++last}`
}
