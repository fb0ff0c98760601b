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

/** One real PostgreSQL for the whole test run; GLEANER_TEST_POSTGRES_URL names a server of one's own. */
export default async function start({ provide }: TestProject): Promise<() => Promise<void>> {
  const own = process.env.GLEANER_TEST_POSTGRES_URL
  if (own !== undefined) {
    provide('postgresUrl', own)
    return async () => {}
  }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-child.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const [url] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(() => Promise.reject(new Error('PostgreSQL for the tests could not be started'))),
  ])
  provide('postgresUrl', url as string)
  return async () => {
    child.stdin.end()
    await exited
  }
}
