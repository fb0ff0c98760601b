import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'

interface Server {
  url: string
  pid: number
}

/** A primary and a synchronous standby, both real. */
export class ServerPair {
  readonly primary: Server
  readonly standby: Server
  readonly #end: () => Promise<void>

  static async start(): Promise<ServerPair> {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'pair-child.ts')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), 'line'),
      exited.then(() => Promise.reject(new Error('the servers could not be started'))),
    ])
    return new ServerPair(JSON.parse(line as string), async () => {
      child.stdin.end()
      await exited
    })
  }

  private constructor([primary, standby]: [Server, Server], end: () => Promise<void>) {
    this.primary = primary
    this.standby = standby
    this.#end = end
  }

  /** Names both, in this order. */
  url(first: Server, second: Server, parameters = ''): string {
    const [one, two] = [new URL(first.url), new URL(second.url)]
    return `postgres://gleaner:gleaner@${one.host},${two.host}/postgres${parameters}`
  }

  async ask(server: Server, sql: string): Promise<any[]> {
    const client = new pg.Client({ connectionString: server.url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  /** It keeps its connections, and refuses to write. */
  async makeReadOnly(server: Server): Promise<void> {
    await this.ask(server, 'ALTER SYSTEM SET default_transaction_read_only = on')
    await this.ask(server, 'SELECT pg_reload_conf()')
  }

  /** As a power cut would. */
  kill(server: Server): void {
    process.kill(server.pid, 'SIGKILL')
  }

  async promote(server: Server): Promise<void> {
    await this.ask(server, 'SELECT pg_promote()')
  }

  stop(): Promise<void> {
    return this.#end()
  }
}
