import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'

const READY_TRIES_MAX = 300
const READY_TRY_MS = 50

/** The programs of the newest server that the distribution's packages have installed. */
export function installedPostgres(): string | undefined {
  const own = process.env.GLEANER_POSTGRES_BIN
  if (own !== undefined) return own
  const parent = '/usr/lib/postgresql'
  if (!existsSync(parent)) return undefined
  return readdirSync(parent)
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(parent, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'postgres')))
}

/**
 * Starts an installed server in a new temporary folder, with its settings as they are after `initdb`: only the port and the
 * folder of the socket differ. Its user `gleaner` is a superuser, and its database is `gleaner_test`.
 * @param flags for the server, e.g. ['-c', 'jit_above_cost=0']
 */
export async function startInstalledPostgres(
  bin: string,
  flags: readonly string[] = [],
): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-installed-'))
  const owner = serverUser()
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  const as = { ...owner, cwd: folder }
  const data = join(folder, 'data')
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const password = randomBytes(12).toString('hex')
    const passwordFile = join(folder, 'password')
    writeFileSync(passwordFile, password, { mode: 0o600 })
    if (owner !== undefined) chownSync(passwordFile, owner.uid, owner.gid)
    // As the distribution's packages set it up: connections over TCP prove themselves with a password.
    const access = ['--username=gleaner', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
    const texts = ['--encoding=UTF8', '--locale=C.UTF-8']
    execFileSync(join(bin, 'initdb'), ['--pgdata', data, ...access, ...texts], { ...as, stdio: 'pipe' })
    const port = await freePort()
    const log = openSync(join(folder, 'log'), 'a')
    const server = spawn(join(bin, 'postgres'), ['-D', data, '-p', `${port}`, '-k', folder, ...flags], {
      ...as,
      // In a group of its own: Ctrl+C ends the command that uses it, and then this program stops it.
      detached: true,
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    const url = `postgres://gleaner:${password}@127.0.0.1:${port}`
    await createDatabase(`${url}/postgres`, server).catch((error) => {
      throw new Error(`PostgreSQL did not start:\n${readFileSync(join(folder, 'log'), 'utf8')}`, {
        cause: error,
      })
    })
    return {
      url: `${url}/gleaner_test`,
      async stop() {
        await ended(server)
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  // A fast shutdown: connections that are still open are closed.
  server.kill('SIGINT')
  await exited
}

async function createDatabase(url: string, server: ChildProcess): Promise<void> {
  for (let tries = 1; ; tries++) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      await client.query('CREATE DATABASE gleaner_test')
      return
    } catch (error) {
      if (tries === READY_TRIES_MAX || server.exitCode !== null) {
        await ended(server)
        throw error
      }
      await sleep(READY_TRY_MS)
    } finally {
      await client.end().catch(() => {})
    }
  }
}

/** PostgreSQL refuses to run as root. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const name = process.env.GLEANER_POSTGRES_USER ?? 'postgres'
  const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
