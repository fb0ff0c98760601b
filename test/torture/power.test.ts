import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { Child } from '../journeys/child.ts'
import { type Place, test } from '../journeys/place.ts'
import { emptyDatabase, record, recorded } from './power/recording.ts'
import { readRecords } from './power/records.ts'
import { cutPower, described, judged, note, type Promised } from './power/states.ts'
import type { Library } from './programs/library.ts'

/** What node:sqlite writes comes from the same SQLite: fewer of its states show whether the library syncs what it must. */
const LIBRARIES: readonly [library: Library, states: number][] = [
  ['better-sqlite3', 20],
  ['node:sqlite', 8],
]
const ROUNDS = 40
const PROGRAMS = join(import.meta.dirname, 'programs')
const FAILED_SYNC = join(PROGRAMS, 'failed-sync.ts')
const FAILED_CHECKPOINT = join(PROGRAMS, 'failed-checkpoint.ts')

// The calls are Linux's, and so is what a failed sync does to the pages of a file. More of it: npm run torture -- --only power
describe.runIf(process.platform === 'linux').each(LIBRARIES)(
  'after a power cut, with %s',
  (library, states) => {
    test('every acknowledged task is there, also when syncs failed', async ({ place }) => {
      const recording = await record(place.folder, { seed: 1, failsOneIn: 12, rounds: ROUNDS, library })
      // What could not be synced was refused, and what came after it was not.
      expect(new Set(recording.refusals.map(({ code }) => code))).toEqual(new Set(['STORE_SYNC']))
      const failed = recording.entries.findIndex(({ kind }) => kind === 'failed')
      expect(failed).toBeGreaterThan(0)
      expect(recording.entries.slice(failed).filter(({ kind }) => kind === 'mark').length).toBeGreaterThan(
        ROUNDS,
      )
      const broken = await cutPower(recording, { seed: 1, states, folder: place.folder })
      expect(described(broken)).toEqual([])
    })

    test('a failed sync refuses what it was for; what follows is synced anew with all before it', async ({
      place,
    }) => {
      const { before, entries } = await failOneSync(place, { drops: false, library }, [
        'STORE_SYNC',
        ...Array(6).fill('acknowledged'),
      ])
      const from = entries.findLastIndex(({ kind }) => kind === 'mark')
      const broken = await cutPower({ before, entries }, { seed: 1, states: 6, folder: place.folder, from })
      expect(described(broken)).toEqual([])
    })

    test('a failed sync of the database takes nothing that was copied before it', async ({ place }) => {
      expect(await failDatabaseSync(place, { library, another: false })).toEqual([])
    })

    test('a connection that was opened after a failed sync of the database takes nothing that was copied before it', async ({
      place,
    }) => {
      expect(await failDatabaseSync(place, { library, another: true })).toEqual([])
    })

    test('if the operating system forgets what it could not write, nothing is acknowledged before the database is opened anew', async ({
      place,
    }) => {
      await failOneSync(place, { drops: true, library }, ['STORE_SYNC', ...Array(6).fill('STORE_LOST')])
    })
  },
)

/** Claims, lets a sync fail, goes on, and closes; what was acknowledged must be there when it is opened anew. */
async function failOneSync(place: Place, how: { drops: boolean; library: Library }, outcomes: string[]) {
  const before = await emptyDatabase(place.folder)
  const child = place.keep(new Child(FAILED_SYNC, { folder: place.folder }, recorded(place.folder, how)))
  expect((await child.hears('outcomes')).outcomes).toEqual(outcomes)
  // SQLite copies the log into the database when it is closed; what was forgotten must not get there.
  expect(await child.ended).toEqual({ code: 0, signal: null })

  const entries = readRecords(readFileSync(join(place.folder, 'records')))
  const promised: Promised = { enqueued: [], completed: [] }
  for (const entry of entries) if (entry.kind === 'mark') note(entry.text, promised)
  expect(await judged(place.file, promised)).toEqual({ lost: [], findings: [] })
  return { before, entries }
}

/** Lets the sync of a checkpoint fail, makes another, and cuts the power. Returns what is broken then. */
async function failDatabaseSync(
  place: Place,
  { library, another }: { library: Library; another: boolean },
): Promise<string[]> {
  const { folder } = place
  const before = await emptyDatabase(folder)
  const child = place.keep(new Child(FAILED_CHECKPOINT, { folder, another }, recorded(folder, { library })))
  const { outcomes } = await child.hears('outcomes')
  expect(outcomes).toEqual(['a part', expect.stringMatching(/IOERR|SQLITE_ERROR/), 'acknowledged'])
  await child.kill()
  const entries = readRecords(readFileSync(join(folder, 'records')))
  const from = entries.findLastIndex(({ kind }) => kind === 'mark')
  return described(await cutPower({ before, entries }, { seed: 1, states: 6, folder, from }))
}
