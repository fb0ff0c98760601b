import { execFile } from 'node:child_process'
import { rmSync, statfsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ContenderName } from '../contenders/contender.ts'
import { type Stage, stageWith } from '../processes.ts'
import type { Bench, ServerClock, Stock } from '../scenarios/scenario.ts'

const BENCH = fileURLToPath(new URL('..', import.meta.url))
const DATA = join(BENCH, '.data')
const COMPILER = join(BENCH, '../node_modules/.bin/tsc')
const TMPFS_MAGIC = 0x01021994

export interface WorkplaceOptions {
  quick: boolean
}

export interface Workplace extends Bench {
  readonly facts: Facts
  close(): Promise<void>
}

/** What the report says of the database all of this ran on. */
export interface Facts {
  readonly versions: Record<string, string>
  readonly settings?: Record<string, string>
}

/** Where queues live: files in a directory, databases of a server. */
export interface Grounds {
  readonly facts: Facts
  /** An empty place. */
  fresh(contender: ContenderName): Promise<Place>
  /** A place with this in it. */
  stocked(stock: Stock): Promise<Place>
  close(): Promise<void>
}

export interface Place {
  /** The file, or the URL. */
  readonly address: string
  /** What its server has used of the processor so far; without one it is 0. */
  serverMs(): number
  remove(): Promise<void>
}

/** Opens grounds inside a directory on disk; the stage is there to fill them. */
export type OpenGrounds = (home: string, stage: Stage, options: WorkplaceOptions) => Promise<Grounds>

/** The directory of one run: the compiled code, and whatever is measured. */
export async function openWorkplace(options: WorkplaceOptions, openGrounds: OpenGrounds): Promise<Workplace> {
  await mkdir(DATA, { recursive: true })
  if (statfsSync(DATA).type === TMPFS_MAGIC) throw new Error('bench/.data is in memory; this needs a disk')
  const home = await mkdtemp(join(DATA, 'run-'))
  const removeHome = () => rmSync(home, { recursive: true, force: true })
  process.once('exit', removeHome)
  const { quick } = options
  const stage = stageWith(await compileInto(join(home, 'code')))
  const grounds = await openGrounds(home, stage, options)

  return {
    ...stage,
    quick,
    facts: grounds.facts,
    size: (real, small) => (quick ? small : real),
    withFresh: (contender, measure) => using(grounds.fresh(contender), measure),
    withStock: (stock, measure) => using(grounds.stocked(stock), measure),
    async close() {
      await grounds.close()
      process.removeListener('exit', removeHome)
      await rm(home, { recursive: true, force: true })
    },
  }
}

/**
 * What a user installs is JavaScript. Run from source, Node would strip types while we measure, which costs each
 * thread of a process some 30 MB and everybody a slower start.
 */
async function compileInto(directory: string): Promise<string> {
  await promisify(execFile)(COMPILER, ['-p', join(BENCH, 'tsconfig.build.json'), '--outDir', directory])
  return join(directory, 'bench/child.js')
}

async function using<T>(
  opening: Promise<Place>,
  use: (address: string, server: ServerClock) => Promise<T>,
): Promise<T> {
  const place = await opening
  try {
    return await use(place.address, place.serverMs)
  } finally {
    await place.remove()
  }
}
