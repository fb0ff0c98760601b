import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { InputError, ResourceError } from '../errors.ts'
import { marked } from './descendants.ts'

export interface SpawnOptions {
  command: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
  uid?: number | undefined
  gid?: number | undefined
  /** Out of reach of the keys of a terminal: Ctrl-C reaches the process that hosts it, which tells it to stop. */
  ownGroup?: boolean
}

export interface Spawned {
  child: ChildProcess
  mark: string
}

/** Rejects when it cannot be started. */
export async function spawned({
  command,
  cwd,
  env,
  uid,
  gid,
  ownGroup = false,
}: SpawnOptions): Promise<Spawned> {
  const [program, ...args] = command as [string, ...string[]]
  const mark = randomUUID()
  const child = spawn(program, args, {
    cwd,
    env: { ...env, ...marked('GLEANER_PROGRAM', mark) },
    uid,
    gid,
    detached: ownGroup,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve({ child, mark }))
    child.once('error', (cause: NodeJS.ErrnoException) => reject(notStarted(program, cause)))
  })
}

/** Another attempt, or another moment, may do better. */
const WANT = ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']

function notStarted(program: string, cause: NodeJS.ErrnoException): Error {
  const message = `command: ${program} could not be started: ${cause.message}`
  if (WANT.includes(cause.code ?? ''))
    return new ResourceError(message, cause, {
      hint: 'Raise the limits of open files and processes (ulimit -n, -u).',
    })
  return new InputError(message, {
    code: 'BAD_CONFIG',
    hint:
      cause.code === 'ENOENT'
        ? 'Install it, or write its full path. A relative path starts at the folder of the config.'
        : 'Make the file executable.',
    cause,
  })
}
