import { type ChildProcess, fork } from 'node:child_process'
import { Mailbox } from './mailbox.ts'
import type { RoleName, RoleParams, RoleResult } from './roles/role.ts'

export interface Message {
  name: string
  value?: unknown
}

/** A child process in its role, seen from the parent. */
export interface Actor<R extends RoleName> {
  tell(command: string, value?: unknown): void
  hear<T = undefined>(event: string): Promise<T>
  result(): Promise<RoleResult<R>>
  /** For the case that another process failed and this one is still waiting. */
  kill(): void
}

export interface Stage {
  /** Plays one role in a fresh process from start to end. */
  play<R extends RoleName>(role: R, params: RoleParams<R>): Promise<RoleResult<R>>
  /** For roles that need to be talked to on the way. */
  start<R extends RoleName>(role: R, params: RoleParams<R>): Actor<R>
}

/** Far above what any role takes: a child that hangs must not hang the whole run. */
const CHILD_LIMIT_MS = 15 * 60_000
const OUTPUT_TAIL_CHARS = 2000

/** @param entry the compiled child.ts */
export function stageWith(entry: string): Stage {
  return {
    play: (role, params) => startChild(entry, role, params).result(),
    start: (role, params) => startChild(entry, role, params),
  }
}

function startChild<R extends RoleName>(entry: string, role: R, params: RoleParams<R>): Actor<R> {
  const child = fork(entry, [role, JSON.stringify(params)], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  const mailbox = new Mailbox()
  const output = collectOutput(child)
  const limit = setTimeout(() => child.kill('SIGKILL'), CHILD_LIMIT_MS)

  child.on('message', ({ name, value }: Message) => mailbox.deliver(name, value))
  child.once('error', (error) => mailbox.close(error))
  child.once('close', (code, signal) => {
    clearTimeout(limit)
    mailbox.close(new Error(`${role} ended early (${signal ?? `exit code ${code}`}):\n${output()}`))
  })

  return {
    tell: (name, value) => child.send({ name, value } satisfies Message),
    hear: <T>(name: string) => mailbox.take(name) as Promise<T>,
    async result() {
      const result = await mailbox.take('result')
      // Its files may only be removed when it is really gone.
      if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve))
      return result as RoleResult<R>
    },
    kill: () => child.kill('SIGKILL'),
  }
}

/** Contenders log as they please; it is shown only when their process failed. */
function collectOutput(child: ChildProcess): () => string {
  let tail = ''
  const keep = (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-OUTPUT_TAIL_CHARS)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  return () => tail.trim()
}
