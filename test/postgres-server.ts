import { tmpdir } from 'node:os'
import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-process.ts'

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
  const server = await startPostgres(tmpdir(), ['-c', 'max_connections=300', '-c', 'fsync=off'])
  provide('postgresUrl', server.url)
  return server.stop
}
