import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection } from '../../../src/store/sqlite/file/connection.ts'
import { findingsIn } from '../../../src/store/sqlite/maintenance/soundness.ts'
import { type Random, randomFrom } from '../random.ts'
import { type Fate, ModelledFile } from './disk.ts'
import type { Recording } from './recording.ts'
import { FILES } from './records.ts'

/** What is wrong with the database that one power cut left. */
export interface Broken {
  /** After so many entries of the recording. */
  at: number
  fate: Fate
  /** What was acknowledged and is not there. */
  lost: string[]
  /** Of `check`, or why it cannot be opened. */
  findings: string[]
}

export interface Cuts {
  seed: number
  states: number
  /** Where the databases are opened that the cuts leave. */
  folder: string
  /** Not before so many entries. */
  from?: number
}

/** What callers were told before a power cut. */
export interface Promised {
  enqueued: number[]
  completed: number[]
}

const FATES: readonly Fate[] = ['dropped', 'kept', 'mixed', 'mixed', 'mixed', 'mixed']

/** Cuts the power at random moments, and opens what is left. Returns the states that are broken. */
export async function cutPower(
  { before, entries }: Pick<Recording, 'before' | 'entries'>,
  { seed, states, folder, from = 1 }: Cuts,
): Promise<Broken[]> {
  const random = randomFrom(seed)
  const cuts = Array.from({ length: states }, () => random.integer(from, entries.length)).sort(
    (a, b) => a - b,
  )
  const files = before.map((bytes) => new ModelledFile(bytes))
  const promised: Promised = { enqueued: [], completed: [] }
  const broken: Broken[] = []
  for (let at = 0, next = 0; next < cuts.length; at++) {
    for (; cuts[next] === at; next++) {
      const found = await stateAfter(files, promised, random, folder)
      if (found.lost.length > 0 || found.findings.length > 0) broken.push({ at, ...found })
    }
    const entry = entries[at]
    if (entry === undefined) break
    if (entry.kind === 'mark') note(entry.text, promised)
    else if (entry.kind === 'write') files[entry.file]!.write(entry.at, entry.bytes)
    else if (entry.kind === 'truncate') files[entry.file]!.truncate(entry.length)
    else files[entry.file]![entry.kind]()
  }
  return broken
}

/** Adds what a mark says to what was promised. */
export function note(text: string, { enqueued, completed }: Promised): void {
  const [what, id] = text.split(' ')
  if (what === 'enqueued') enqueued.push(Number(id))
  if (what === 'completed') completed.push(Number(id))
}

async function stateAfter(
  files: readonly ModelledFile[],
  promised: Promised,
  random: Random,
  folder: string,
): Promise<Omit<Broken, 'at'>> {
  const fate = random.pick(FATES)
  const place = join(folder, 'after')
  mkdirSync(place)
  try {
    for (const [index, file] of files.entries())
      writeFileSync(join(place, FILES[index]!), file.afterPowerCut(random, fate))
    return { fate, ...(await judged(join(place, FILES[0]), promised)) }
  } finally {
    rmSync(place, { recursive: true })
  }
}

export async function judged(
  path: string,
  { enqueued, completed }: Promised,
): Promise<Pick<Broken, 'lost' | 'findings'>> {
  let connection: Connection | undefined
  try {
    connection = new Connection(path)
    const { raw } = connection
    // Opening the database recovers what its log holds.
    const findings = await findingsIn(connection)
    const ids = (sql: string) => new Set(raw.prepare(sql).pluck().all() as number[])
    const there = ids('SELECT id FROM gleaner_tasks')
    const done = ids("SELECT id FROM gleaner_tasks WHERE status = 'completed'")
    const effects = ids('SELECT task FROM effects')
    const lost = [
      ...enqueued.filter((id) => !there.has(id)).map((id) => `enqueued ${id}`),
      ...completed.filter((id) => !done.has(id) || !effects.has(id)).map((id) => `completed ${id}`),
    ]
    return { lost, findings: findings.map(({ what }) => what) }
  } catch (error) {
    return { lost: [], findings: [String(error)] }
  } finally {
    connection?.close()
  }
}

/** For people: the first of what is broken. */
export function described(broken: readonly Broken[]): string[] {
  return broken
    .slice(0, 5)
    .map(
      ({ at, fate, lost, findings }) =>
        `after ${at} entries, unsynced writes ${fate}: ${[...lost.slice(0, 5), ...findings.slice(0, 2)].join('; ')}`,
    )
}
