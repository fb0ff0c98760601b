import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What a process asked of the system, in order: bytes to a file, a sync of a file, or a mark of its own. */
export type Call = { kind: 'write' | 'sync'; file: string } | { kind: 'mark'; text: string }

/** How to watch a process: a command before node's, or a library in it. */
export interface Tracer {
  command: string[]
  env: NodeJS.ProcessEnv
  calls: () => Call[]
}

/** Marks are written to this descriptor, which leads nowhere. */
export const MARKS = '/dev/null'

/**
 * strace where it is; else a library made with the C compiler that stands between the process and libc. A machine
 * with neither cannot show what this is about, and says so instead of skipping it.
 */
export function openTracer(folder: string): Tracer {
  if (hasStrace()) return strace(folder)
  if (hasCompiler()) return shim(folder)
  throw new Error(
    'Whether anything is synced to disk can only be seen from outside. Install strace (Debian: apt-get install strace), ' +
      'or a C compiler (apt-get install gcc libc6-dev).',
  )
}

/** Tries it, because it may be there and yet not be allowed to trace. */
export function hasStrace(): boolean {
  return spawnSync('strace', ['-f', 'true']).status === 0
}

export function hasCompiler(): boolean {
  return spawnSync('cc', ['--version']).status === 0
}

const WRITES = 'write,pwrite64,writev,pwritev,pwritev2'
const SYNCS = 'fsync,fdatasync,sync_file_range'

export function strace(folder: string): Tracer {
  const output = join(folder, 'strace.txt')
  return {
    // -y: with the paths of descriptors; -f: all threads; -s: marks in full.
    command: ['strace', '-f', '-y', '-s', '40', '-e', `trace=${WRITES},${SYNCS}`, '-o', output],
    env: {},
    calls: () => readFileSync(output, 'utf8').split('\n').flatMap(readStraceLine),
  }
}

/** `4711 pwrite64(19</tmp/x/app.db-wal>, "\0\1"..., 4096, 32) = 4096`, or its beginning when threads interleave. */
function readStraceLine(line: string): Call[] {
  const found = /^\d+ +(?<call>\w+)\(\d+<(?<file>[^>]*)>(?:, "(?<text>[^"]*)")?/.exec(line)?.groups
  if (found === undefined) return []
  const { call, file, text } = found
  if (file!.startsWith(MARKS)) return [{ kind: 'mark', text: text! }]
  return [{ kind: call!.includes('sync') ? 'sync' : 'write', file: file! }]
}

export function shim(folder: string): Tracer {
  const output = join(folder, 'calls.txt')
  const library = join(folder, 'calls.so')
  const source = join(import.meta.dirname, 'calls.c')
  const built = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], {
    encoding: 'utf8',
  })
  if (built.status !== 0) throw new Error(`calls.c does not compile: ${built.stderr}`)
  return {
    command: [],
    env: { LD_PRELOAD: library, GLEANER_CALLS: output },
    calls: () => readFileSync(output, 'utf8').split('\n').flatMap(readShimLine),
  }
}

/** `sync /tmp/x/app.db-wal`, `write …`, `mark …`. */
function readShimLine(line: string): Call[] {
  const [kind, rest] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]
  if (kind === 'mark') return [{ kind, text: rest }]
  return kind === 'write' || kind === 'sync' ? [{ kind, file: rest }] : []
}
