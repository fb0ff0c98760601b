import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-process.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

/** It lives as long as the run: nothing of it need survive a crash of the machine, and a fifth of each test is saved. */
const SETTINGS = [
  'max_connections=300',
  'fsync=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=1GB',
  'checkpoint_timeout=30min',
].flatMap((setting) => ['-c', setting])

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
  return startPostgres(dataFolder(), SETTINGS)
}

/** A run needs less than 2 GB. */
const MEMORY_MIN_BYTES = 6 * 2 ** 30

/** In memory, if there is plenty: each schema has some hundred files, and a disk's file system spends long on making and removing them. */
function dataFolder(): string {
  const shared = '/dev/shm'
  if (process.platform !== 'linux' || !existsSync(shared)) return tmpdir()
  const { bavail, bsize } = statfsSync(shared)
  return Math.min(bavail * bsize, process.availableMemory()) < MEMORY_MIN_BYTES ? tmpdir() : shared
}
