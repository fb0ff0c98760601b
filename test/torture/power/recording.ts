import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openGleaner } from '../../../src/index.ts'
import { Child } from '../../journeys/child.ts'
import { until } from '../../until.ts'
import { type Library, using } from '../programs/library.ts'
import { hasCompiler } from '../syscalls.ts'
import { EFFECTS } from '../tasks.ts'
import { type Entry, FILES, readRecords } from './records.ts'

export interface Recording {
  /** The files as they were, safely on the disk, when the recording began. */
  before: Buffer[]
  entries: Entry[]
  /** What callers were refused, and why. */
  refusals: { code: string; message: string }[]
}

export interface RecordingOptions {
  seed: number
  /** Of the syncs, one in so many fails; 0: none does. */
  failsOneIn: number
  /** The same for the syncs of the database, of which there are few: one for each checkpoint that is complete. Default: the same. */
  databaseFailsOneIn?: number
  /** Whether the kernel forgets what it could not write (some file systems), or goes on showing it to programs. */
  drops?: boolean
  /** Rounds of enqueues of each process. */
  rounds: number
  /** What the processes open the file with. */
  library?: Library
}

const PROGRAM = join(import.meta.dirname, '../programs/power.ts')

/** The library that stands between a process and libc; compiled where the tests run. */
export function compiledShim(folder: string): string {
  if (!hasCompiler())
    throw new Error(
      'What a power cut leaves can only be modelled with a C compiler. Install one (Debian: apt-get install gcc libc6-dev).',
    )
  const library = join(folder, 'power.so')
  const source = join(import.meta.dirname, 'power.c')
  const built = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl', '-lpthread'], {
    encoding: 'utf8',
  })
  if (built.status !== 0) throw new Error(`power.c does not compile: ${built.stderr}`)
  return library
}

/** The environment of a process whose writes and syncs in the folder of this place are recorded. */
export function recorded(
  folder: string,
  {
    seed = 0,
    failsOneIn = 0,
    databaseFailsOneIn = failsOneIn,
    drops = false,
    library,
  }: Partial<RecordingOptions>,
): NodeJS.ProcessEnv {
  return {
    ...(library === undefined ? {} : using(library)),
    LD_PRELOAD: compiledShim(folder),
    GLEANER_POWER: folder,
    GLEANER_POWER_SEED: String(seed),
    GLEANER_POWER_ONE_IN: String(failsOneIn),
    GLEANER_POWER_DATABASE_ONE_IN: String(databaseFailsOneIn),
    ...(drops ? { GLEANER_POWER_DROPS: '1' } : {}),
  }
}

/** A database with its tables; returns its files. */
export async function emptyDatabase(folder: string): Promise<Buffer[]> {
  const file = join(folder, FILES[0])
  const gleaner = await openGleaner({ database: `sqlite:${file}` })
  await gleaner.close()
  const raw = new Database(file)
  raw.exec(EFFECTS)
  raw.close()
  return FILES.map((name) => contentOf(join(folder, name)))
}

/** Producers and a worker on one file, until all are killed; one producer begins when the first was killed. */
export async function record(folder: string, options: RecordingOptions): Promise<Recording> {
  const before = await emptyDatabase(folder)
  const database = `sqlite:${join(folder, FILES[0])}`
  const env = recorded(folder, options)
  const children: Child[] = []
  const start = (role: string) => {
    const child = new Child(PROGRAM, { database, role, count: options.rounds }, env)
    children.push(child)
    return child
  }
  try {
    const [first, worker] = [start('producer'), start('worker')]
    await isDone(first)
    await first.kill()
    await Promise.all([isDone(start('producer')), isDone(worker)])
  } finally {
    await Promise.all(children.map((child) => child.kill()))
  }
  return {
    before,
    entries: readRecords(readFileSync(join(folder, 'records'))),
    refusals: children.flatMap((child) =>
      child.all('refused').map(({ code, message }) => ({ code, message })),
    ),
  }
}

/** Under load this takes longer than a child is usually given. */
async function isDone(child: Child): Promise<void> {
  await until('the process has done its rounds', () => !child.alive || child.all('done').length > 0, 300_000)
  if (!child.alive) throw new Error(`a process of the recording ended early: ${child.errors}`)
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}
