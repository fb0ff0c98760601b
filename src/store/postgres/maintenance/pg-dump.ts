import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { StoreError } from '../../../errors.ts'
import { messageOf } from '../../../thrown.ts'
import type { Backup, BackupOptions } from '../../ports/maintenance.ts'

const run = promisify(execFile)

/** Where packages put their programs, besides PATH. */
const PARENTS = [
  { parent: '/usr/lib/postgresql', bin: 'bin' },
  { parent: '/opt/homebrew/opt', bin: 'bin' },
]
const VERSION_WITHIN_MS = 10_000
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024
const SAID_MAX = 2_000
/** Of the engine and its driver: libpq does not know them. */
const OWN_PARAMETERS = ['schema', 'ssl', 'uselibpqcompat']

export interface DumpOf {
  url: string
  /** True: with TLS. An object: with options that pg_dump cannot take. */
  ssl: boolean | object | undefined
  /** The major version of the server. */
  major: number
  env?: NodeJS.ProcessEnv
}

/**
 * The whole database, with the app's own tables, in PostgreSQL's custom format. It gets its name when it is complete, synced and
 * its list of contents could be read.
 */
export async function dump(
  of: DumpOf,
  path: string,
  { overwrite, onProgress }: BackupOptions,
): Promise<Backup> {
  const { url, password } = addressOf(of)
  const program = await fitting(of, path, url)
  refusePlace(path, overwrite)
  const partial = `${path}.gleaner-partial-${process.pid}-${randomBytes(4).toString('hex')}`
  const startedAt = Date.now()
  try {
    onProgress?.({ phase: 'copying', fraction: 0 })
    closeSync(openSync(partial, 'wx', 0o600))
    const env = { ...of.env, ...process.env, ...(password === '' ? {} : { PGPASSWORD: password }) }
    await called(program, ['--format=custom', '--no-password', `--file=${partial}`, `--dbname=${url}`], env)
    onProgress?.({ phase: 'verifying', fraction: 0 })
    await called(join(dirname(program), 'pg_restore'), ['--list', partial], env)
    putInPlace(partial, path, overwrite)
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
  onProgress?.({ phase: 'verifying', fraction: 1 })
  return { path, bytes: statSync(path).size, startedAt }
}

/** The password goes by the environment: every user of the machine can read arguments. */
function addressOf({ url, ssl }: DumpOf): { url: string; password: string } {
  const parsed = new URL(url)
  const password = decodeURIComponent(parsed.password) || (parsed.searchParams.get('password') ?? '')
  parsed.password = ''
  for (const parameter of [...OWN_PARAMETERS, 'password']) parsed.searchParams.delete(parameter)
  if (ssl === true) parsed.searchParams.set('sslmode', 'require')
  return { url: parsed.href, password }
}

/** pg_dump refuses a server that is newer than itself. Of those that fit, the oldest. */
async function fitting(
  { major, ssl, env = process.env }: DumpOf,
  path: string,
  url: string,
): Promise<string> {
  const found = await Promise.all(
    programs(env).map(async (file) => ({ file, version: await versionOf(file) })),
  )
  const [best] = found
    .filter(({ version }) => version !== null && version >= major)
    .sort((a, b) => a.version! - b.version!)
  const hasFiles = typeof ssl === 'object'
  if (best !== undefined && !hasFiles) return best.file
  const versions = [...new Set(found.flatMap(({ version }) => version ?? []))].join(', ')
  const why = hasFiles
    ? 'postgres.ssl holds options that pg_dump cannot take'
    : `no pg_dump of version ${major} or newer was found${versions === '' ? '' : ` (found: ${versions})`}`
  throw new StoreError(`backup: ${why}`, {
    code: 'NOT_SUPPORTED',
    hint: `Install the client programs of PostgreSQL ${major}, or run where they are: pg_dump --format=custom --file='${path}' '${url}'`,
  })
}

function programs(env: NodeJS.ProcessEnv): string[] {
  const packaged = PARENTS.flatMap(({ parent, bin }) =>
    existsSync(parent) ? readdirSync(parent).map((name) => join(parent, name, bin)) : [],
  )
  const folders = [...(env.PATH ?? '').split(delimiter), ...packaged]
  const files = folders.filter((folder) => folder.startsWith('/')).map((folder) => join(folder, 'pg_dump'))
  return [...new Set(files)].filter(
    (file) => existsSync(file) && existsSync(join(dirname(file), 'pg_restore')),
  )
}

async function versionOf(file: string): Promise<number | null> {
  try {
    const { stdout } = await run(file, ['--version'], { timeout: VERSION_WITHIN_MS })
    const [, major] = /\(PostgreSQL\) (\d+)/.exec(stdout) ?? []
    return major === undefined ? null : Number(major)
  } catch {
    return null
  }
}

async function called(program: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await run(program, args, { env, maxBuffer: OUTPUT_MAX_BYTES })
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    const said = stderr?.trim().slice(-SAID_MAX) || messageOf(error)
    throw new StoreError(`backup: ${said}`, {
      code: 'STORE_FAILED',
      hint: `${program} failed. Nothing was written.`,
      cause: error,
    })
  }
}

function refusePlace(path: string, overwrite: boolean): void {
  if (!existsSync(dirname(path)))
    throw new StoreError(`backup: there is no folder for ${path}`, {
      code: 'STORE_FAILED',
      hint: 'Create it first.',
    })
  if (!existsSync(path)) return
  if (!overwrite) throw exists(path)
  if (!statSync(path).isFile())
    throw new StoreError(`backup: ${path} is not a file`, { code: 'STORE_FAILED', hint: 'Name a file.' })
}

function exists(path: string): StoreError {
  return new StoreError(`backup: ${path} exists already`, {
    code: 'BACKUP_EXISTS',
    hint: 'Choose another name, or set overwrite: true (--overwrite).',
  })
}

function putInPlace(partial: string, path: string, overwrite: boolean): void {
  chmodSync(partial, 0o600)
  const file = openSync(partial, 'r+')
  fsyncSync(file)
  closeSync(file)
  if (overwrite) return renameSync(partial, path)
  try {
    linkSync(partial, path)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? exists(path) : error
  }
  rmSync(partial)
}
