import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect } from 'vitest'
import { openGleaner, restoreBackup } from '../../src/index.ts'
import { Connection } from '../../src/store/sqlite/file/connection.ts'
import { findingsIn } from '../../src/store/sqlite/maintenance/soundness.ts'
import { Child } from '../journeys/child.ts'
import { type Place, test } from '../journeys/place.ts'
import { quickStart } from '../quick-start/environment.ts'
import { type Gap, gapOf } from './gaps.ts'
import type { Plan } from './kill-point.ts'
import { type Library, using } from './programs/library.ts'
import { held, plain, tasks } from './tasks.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')
const PRELOAD = join(import.meta.dirname, 'kill-point.ts')

/** At a time, as for the other kill points. */
const LANES = 3

/** `npm run torture` kills at every gap; here where it can make a difference. */
const EVERY_GAP = process.env.GLEANER_TORTURE !== undefined

/** Several steps of the copy; for a restore so many that pages are written before the end, which must be undone then. */
const PADDING_BYTES = { backup: 7 * 2 ** 20, restore: 22 * 2 ** 20 }

interface Chore {
  chore: 'backup' | 'restore'
  library: Library
}

/** Where one kill happens: a database, what was made of it before, and what it left to be read back. */
interface Scene {
  folder: string
  /** It has a log of a killed worker beside it, who held something. */
  file: string
  backup: string
}

/** What is killed uses the library; what looks at the files and repairs them uses better-sqlite3. */
const LIBRARIES: readonly [database: string, library: Library][] = [
  ['SQLite', 'better-sqlite3'],
  ['SQLite (node:sqlite)', 'node:sqlite'],
]

describe.each(LIBRARIES)('on %s, killed at any point of', (_database, library) => {
  test('a backup, there is no half of one under its name, and the next one is not in its way', async ({
    place,
  }) => {
    const template = await prepared(place, { chore: 'backup', library })
    await killEverywhere(
      place,
      { chore: 'backup', library },
      template,
      async ({ folder, file, backup }, point) => {
        // The old one, or the new one: both are whole.
        expect(await markOf(backup), point).toBeOneOf(['old', 'new'])
        expect(await markOf(file), point).toBe('new')
        const gleaner = await openGleaner({ database: `sqlite:${file}`, tasks })
        await gleaner.maintenance.backup(backup, { overwrite: true })
        await gleaner.close()
        expect(await markOf(backup), point).toBe('new')
        expect(readdirSync(folder).sort(), point).toEqual(['app.db', 'copy.db'])
      },
    )
  }, 300_000)

  test('a restore, the old database is there or the new one, and it can be repeated', async ({ place }) => {
    const template = await prepared(place, { chore: 'restore', library })
    let undone = 0
    await killEverywhere(place, { chore: 'restore', library }, template, async ({ file, backup }, point) => {
      if (existsSync(`${file}-journal`)) undone += 1
      expect(await markOf(file), point).toBeOneOf(['old', 'new'])
      await restoreBackup(backup, { database: `sqlite:${file}` })
      expect(await markOf(file), point).toBe('old')
    })
    expect(undone).toBeGreaterThan(0)
  }, 300_000)
})

/** A database marked `old` with a backup of it, and then `new`; a worker was killed with something in its hands. */
async function prepared(place: Place, { chore, library }: Chore): Promise<Scene> {
  const scene = sceneIn(mkdtempSync(join(place.folder, 'template-')))
  const database = `sqlite:${scene.file}`
  const gleaner = await openGleaner({ database, tasks })
  const app = new Database(scene.file)
  app.exec('CREATE TABLE mark (word TEXT, padding BLOB)')
  app.prepare('INSERT INTO mark VALUES (?, zeroblob(?))').run('old', PADDING_BYTES[chore])
  await gleaner.enqueueMany(plain, [1, 2, 3])
  await gleaner.maintenance.backup(scene.backup)
  app.exec(`UPDATE mark SET word = 'new'`)
  app.close()
  await gleaner.enqueue(held)
  await gleaner.close()
  const argument = { database, concurrency: 1 }
  const holder = place.keep(new Child(join(PROGRAMS, 'holder.ts'), argument, using(library)))
  await holder.hears('running')
  await holder.kill()
  expect(existsSync(`${scene.file}-wal`)).toBe(true)
  return scene
}

function sceneIn(folder: string): Scene {
  return { folder, file: join(folder, 'app.db'), backup: join(folder, 'copy.db') }
}

/** Nobody has it open: files of a database that is open must not be touched. */
function copyOf(place: Place, template: Scene): Scene {
  const scene = sceneIn(mkdtempSync(join(place.folder, 'scene-')))
  for (const name of readdirSync(template.folder))
    copyFileSync(join(template.folder, name), join(scene.folder, name))
  return scene
}

function start(place: Place, { chore, library }: Chore, { file, backup }: Scene, at?: Gap): Child {
  const plan: Plan = { thread: 'keeper', at }
  const env = {
    ...using(library),
    ...quickStart(`--import ${PRELOAD}`),
    GLEANER_KILL_POINT: JSON.stringify(plan),
  }
  const argument = { database: `sqlite:${file}`, path: backup, chore }
  return place.keep(new Child(join(PROGRAMS, 'chore.ts'), argument, env))
}

async function killEverywhere(
  place: Place,
  chore: Chore,
  template: Scene,
  look: (scene: Scene, point: string) => Promise<void>,
): Promise<void> {
  const dryRun = start(place, chore, copyOf(place, template))
  expect(await dryRun.ended, dryRun.errors).toEqual({ code: 0, signal: null })
  const steps = dryRun.all('step').map(({ sql }) => sql as string)
  expect(steps.filter((step) => step === '(pages copied)').length).toBeGreaterThan(2)
  const points = steps.map((_, index) => index + 1).filter((at) => EVERY_GAP || isTelling(steps, at))
  const queue = points.values()
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (const at of queue) {
        const scene = copyOf(place, template)
        const child = start(place, chore, scene, gapOf(steps, at))
        const point = `killed at ${at} of ${steps.length}, before ${steps[at - 1]}`
        expect((await child.ended).signal, `${point}: ${child.errors}`).toBe('SIGKILL')
        await look(scene, point)
        rmSync(scene.folder, { recursive: true })
      }
    }),
  )
}

/** Something changed for others to see since the point before it; one of many steps alike is enough. */
function isTelling(steps: readonly string[], at: number): boolean {
  const [before, next] = [steps[at - 2], steps[at - 1]!]
  if (before === undefined) return true
  const isChange = /^\((pages|all|fsync|link|rename|rm)|^(COMMIT|PRAGMA journal_mode)/.test(before)
  return isChange && (before !== next || steps[at - 3] !== before || steps[at] !== next)
}

/** After making sure that it is sound, whoever was killed. */
async function markOf(file: string): Promise<unknown> {
  const connection = new Connection(file)
  try {
    expect(await findingsIn(connection), file).toEqual([])
    const { word, length } = connection.raw
      .prepare('SELECT word, length(padding) AS length FROM mark')
      .get() as { word: string; length: number }
    expect(Object.values(PADDING_BYTES)).toContain(length)
    return word
  } finally {
    connection.close()
  }
}
