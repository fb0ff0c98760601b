import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/**
 * A PostgreSQL server in a process of its own, with its data in a new folder inside `parent`.
 * @param flags for the server, e.g. ['-c', 'fsync=off']
 */
export async function startPostgres(
  parent: string,
  flags: readonly string[],
): Promise<{ url: string; stop(): Promise<void> }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-child.ts'), parent, ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const [url] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(() => Promise.reject(new Error('PostgreSQL could not be started'))),
  ])
  return {
    url: url as string,
    async stop() {
      child.stdin.end()
      await exited
    },
  }
}
