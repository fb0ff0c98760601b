import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { quickStart } from '../quick-start/environment.ts'

export const checkout = join(import.meta.dirname, '../..')

export interface Ran {
  status: number | null
  stdout: string
  stderr: string
}

/** Settings of whoever runs the tests must not decide what an example prints. */
const { FORCE_COLOR: _1, NO_COLOR: _2, GLEANER_DATABASE: _3, ...environment } = process.env

export function start(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): ChildProcess {
  return spawn(command, args, {
    cwd: options.cwd ?? checkout,
    env: { ...environment, ...quickStart(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** A program of Node's, as a user starts it. */
export function run(file: string, options: Parameters<typeof start>[2] = {}): Promise<Ran> {
  return ended(start(process.execPath, [file], options))
}

export async function ended(child: ChildProcess): Promise<Ran> {
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const [status] = await once(child, 'close')
  return { status, stdout: stdout(), stderr: stderr() }
}

/** Resolves with the first line that matches; a program that ends before is an error. */
export function line(child: ChildProcess, pattern: RegExp): Promise<RegExpMatchArray> {
  let text = ''
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', (chunk) => {
      text += chunk
      const match = text.match(pattern)
      if (match !== null) resolve(match)
    })
    child.once('close', () => reject(new Error(`it ended without a line like ${pattern}:\n${text}`)))
  })
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = []
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}
