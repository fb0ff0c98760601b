import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openGleaner, restoreBackup } from '../../src/index.ts'
import { Connection } from '../../src/store/sqlite/file/connection.ts'
import { findingsIn } from '../../src/store/sqlite/maintenance/soundness.ts'
import { Child } from '../journeys/child.ts'
import { type Library, using } from './programs/library.ts'
import { EFFECTS, tasks } from './tasks.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')

export interface BackupTorture {
  /** What works, backs up and restores; better-sqlite3 only looks at what came of it. */
  library: Library
  backups: number
  everyMs: number
  /** Processes at the same time. */
  producers: number
  workers: number
}

export interface BackupDamage {
  backups: number
  /** Acknowledged before the last backup began. */
  acknowledged: number
  longestMs: number
  /** In words; none, when every promise was kept. */
  broken: string[]
}

/** One backup, and what its caller may expect of it. */
interface Promised {
  path: string
  /** Ids that were acknowledged before it began. */
  acknowledged: string[]
}

/** Backups one after the other while processes enqueue and work as fast as they can; then each of them is restored. */
export async function backUpUnderLoad(options: BackupTorture): Promise<BackupDamage> {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-backups-'))
  const load = new Load(`sqlite:${join(folder, 'app.db')}`)
  try {
    await load.start(options)
    const { made, longestMs } = await backUp(folder, load, options)
    await load.stop()
    const broken = [...load.problems]
    for (const backup of made) broken.push(...(await brokenIn(folder, backup, options)))
    broken.push(...(await unfinishedIn(`sqlite:${join(folder, 'restored.db')}`)))
    return { backups: made.length, acknowledged: made.at(-1)!.acknowledged.length, longestMs, broken }
  } finally {
    await load.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

class Load {
  readonly database: string
  readonly #producers: Child[] = []
  readonly #workers: Child[] = []

  constructor(database: string) {
    this.database = database
  }

  async start({ producers, workers, library }: BackupTorture): Promise<void> {
    const gleaner = await openGleaner({ database: this.database, tasks })
    await gleaner.close()
    const connection = new Connection(this.database.slice('sqlite:'.length))
    connection.raw.exec(EFFECTS)
    connection.close()
    const argument = { database: this.database, concurrency: 8 }
    for (let n = 0; n < producers; n++)
      this.#producers.push(new Child(join(PROGRAMS, 'producer.ts'), argument, using(library)))
    for (let n = 0; n < workers; n++)
      this.#workers.push(new Child(join(PROGRAMS, 'worker.ts'), argument, using(library)))
    await Promise.all(this.#producers.map((child) => child.hears('acknowledged')))
    await Promise.all(this.#workers.map((child) => child.hears('completed')))
  }

  get acknowledged(): string[] {
    return this.#producers.flatMap((child) => child.all('acknowledged').flatMap(({ ids }) => ids as string[]))
  }

  get problems(): string[] {
    return [...this.#producers, ...this.#workers].flatMap((child) => [
      ...child.all('problem').map(({ message }) => `problem: ${message}`),
      ...(child.errors === '' ? [] : [child.errors]),
    ])
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#producers, ...this.#workers].map((child) => child.kill()))
  }
}

async function backUp(
  folder: string,
  load: Load,
  { backups, everyMs, library }: BackupTorture,
): Promise<{ made: Promised[]; longestMs: number }> {
  const gleaner = await openGleaner({ database: load.database, sqlite: { driver: library } })
  const made: Promised[] = []
  let longestMs = 0
  for (let n = 0; n < backups; n++) {
    const startedMs = performance.now()
    const backup = { path: join(folder, `backup-${n}.db`), acknowledged: load.acknowledged }
    await gleaner.maintenance.backup(backup.path)
    made.push(backup)
    const tookMs = performance.now() - startedMs
    longestMs = Math.max(longestMs, tookMs)
    // Not a wait for something: the rhythm of the backups.
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, everyMs - tookMs)))
  }
  await gleaner.close()
  return { made, longestMs }
}

/** Restored over the one before it: whatever was there is gone. */
async function brokenIn(
  folder: string,
  { path, acknowledged }: Promised,
  { library }: BackupTorture,
): Promise<string[]> {
  const restored = join(folder, 'restored.db')
  await restoreBackup(path, { database: `sqlite:${restored}`, sqlite: { driver: library } })
  const connection = new Connection(restored)
  try {
    const ids = new Set(connection.raw.prepare('SELECT id FROM gleaner_tasks').pluck().all().map(String))
    const alive = connection.raw.prepare('SELECT worker FROM gleaner_workers').pluck().all()
    return [
      ...acknowledged.filter((id) => !ids.has(id)).map((id) => `acknowledged, and not in ${path}: ${id}`),
      ...alive.map((worker) => `alive in ${path}: ${worker}`),
      ...(await findingsIn(connection)).map((finding) => `${path}: ${JSON.stringify(finding)}`),
    ]
  } finally {
    connection.close()
  }
}

/** What the copy was given back runs there as if nothing had happened. */
async function unfinishedIn(database: string): Promise<string[]> {
  const gleaner = await openGleaner({ database, tasks })
  await gleaner.work({ concurrency: 50 }).drained({ includeDelayed: true })
  const { scheduled, queued, running, failed } = await gleaner.tasks.counts()
  await gleaner.close()
  return scheduled + queued + running + failed === 0
    ? []
    : [`left in the last one: ${JSON.stringify({ scheduled, queued, running, failed })}`]
}

export function backupSummary({ backups, acknowledged, longestMs, broken }: BackupDamage): string {
  return (
    `${backups} backups under load, the longest ${Math.round(longestMs)} ms; ${acknowledged} tasks acknowledged before ` +
    `the last one; ${broken.length === 0 ? 'each restored whole' : `${broken.length} BROKEN:\n${broken.slice(0, 20).join('\n')}`}`
  )
}
