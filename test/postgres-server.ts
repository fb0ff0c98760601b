import { tmpdir } from 'node:os'
import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-process.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

/** One real PostgreSQL for the whole test run. */
export default async function provideServer({ provide }: TestProject): Promise<() => Promise<void>> {
  const { url, stop } = await serverForTests()
  provide('postgresUrl', url)
  return stop
}

/** GLEANER_TEST_POSTGRES_URL names a server of one's own; its user must be allowed to create databases. */
export async function serverForTests(): Promise<{ url: string; stop(): Promise<void> }> {
  const own = process.env.GLEANER_TEST_POSTGRES_URL
  if (own !== undefined) return { url: own, async stop() {} }
  return startPostgres(tmpdir(), ['-c', 'max_connections=300', '-c', 'fsync=off'])
}
