import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { InputError } from '../errors.ts'
import { sqlitePath } from '../store/by-url/open.ts'

/**
 * The operator's token of a server that was configured without one. It is random, and lies in a file that only the owner of the
 * database can read: beside a SQLite file, in the user's state folder for PostgreSQL.
 */
export interface OwnToken {
  token: string
  /** Null: the database is in memory, and so is its token. */
  file: string | null
}

/** The server's. Makes the token when it is first needed. */
export function ownToken(database: string, env: NodeJS.ProcessEnv = process.env): OwnToken {
  const file = ownTokenFile(database, env)
  if (file === null) return { token: newToken(), file }
  const token = readOwnToken(file) ?? makeFile(file) ?? readOwnToken(file)
  if (token !== null) return { token, file }
  throw refused(file, 'it was removed while it was being read')
}

/** Null: a database in memory has none. */
export function ownTokenFile(database: string, env: NodeJS.ProcessEnv = process.env): string | null {
  const file = sqlitePath(database)
  if (file === ':memory:') return null
  if (file !== undefined) return `${file}.token`
  const { host, pathname, searchParams } = new URL(database)
  const schema = searchParams.get('schema') ?? 'gleaner'
  const place = createHash('sha256').update(`${host}${pathname} ${schema}`).digest('hex').slice(0, 16)
  const state = env.XDG_STATE_HOME || join(homedir(), '.local', 'state')
  return join(state, 'gleaner', `${place}.token`)
}

/** Null: there is no such file. A file that another user could have written or read is refused. */
export function readOwnToken(file: string): string | null {
  const descriptor = openOwn(file)
  if (descriptor === null) return null
  try {
    const stat = fstatSync(descriptor)
    const { uid, mode } = stat
    if (!stat.isFile()) throw refused(file, 'it is not a file')
    const us = process.getuid?.()
    if (us !== undefined && uid !== us)
      throw refused(file, `it belongs to the user ${uid}, and this is ${us}`)
    if (us !== undefined && (mode & 0o077) !== 0) throw refused(file, 'other users can read or write it')
    const token = readFileSync(descriptor, 'utf8').trim()
    if (/^[A-Za-z0-9_-]{16,200}$/.test(token)) return token
    throw refused(file, 'it does not hold a token')
  } finally {
    closeSync(descriptor)
  }
}

function openOwn(file: string): number | null {
  try {
    return openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    throw refused(file, code === 'ELOOP' ? 'it is a symbolic link' : message)
  }
}

/** Null: another process made it first. It appears whole, or not at all. */
function makeFile(file: string): string | null {
  const token = newToken()
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  try {
    const descriptor = openSync(draft, 'wx', 0o600)
    writeSync(descriptor, `${token}\n`)
    fsyncSync(descriptor)
    closeSync(descriptor)
    linkSync(draft, file)
    return token
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'EEXIST') return null
    throw refused(file, message)
  } finally {
    rmSync(draft, { force: true })
  }
}

function newToken(): string {
  return randomBytes(24).toString('base64url')
}

function refused(file: string, why: string): InputError {
  return new InputError(`cannot use the token in ${file}: ${why}`, {
    code: 'BAD_CONFIG',
    hint: 'Remove the file: `gleaner start` then creates a new token. Or configure `server.tokens`.',
  })
}
