import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

/** One real PostgreSQL for the whole test run. */
export default async function provideServer({ provide }: TestProject): Promise<() => Promise<void>> {
  const { url, stop } = await startPostgres()
  provide('postgresUrl', url)
  return stop
}

/** GLEANER_TEST_POSTGRES_URL names a server of one's own; its user must be allowed to create databases. */
export async function startPostgres(): Promise<{ url: string; stop: () => Promise<void> }> {
  const own = process.env.GLEANER_TEST_POSTGRES_URL
  if (own !== undefined) return { url: own, stop: async () => {} }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-child.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const [url] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(() => Promise.reject(new Error('PostgreSQL for the tests could not be started'))),
  ])
  const stop = async () => {
    child.stdin.end()
    await exited
  }
  return { url: url as string, stop }
}
