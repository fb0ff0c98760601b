// Work that is already in a table of your own. You enqueue nothing: workers find the rows.
import Database from 'better-sqlite3'
import { z } from 'zod'
import { defineDiscovery, openGleaner, PermanentError } from '../src/index.ts' // in your own project: from 'gleaner'
import { temporaryFile } from './temporary.ts'

const file = temporaryFile('discovery.db')
const db = new Database(file)
db.exec(`
  CREATE TABLE songs (id INTEGER PRIMARY KEY, path TEXT NOT NULL, bpm INTEGER, needs_tagging INTEGER NOT NULL DEFAULT 1);
  CREATE INDEX songs_to_tag ON songs (id) WHERE needs_tagging = 1;
  CREATE TABLE plays (song INTEGER PRIMARY KEY);
  INSERT INTO songs (path) VALUES ('a.flac'), ('b.flac'), ('notes.txt'), ('d.flac');
`)

const tagSongs = defineDiscovery({
  name: 'tag-songs',
  table: 'songs',
  key: 'id',
  where: 'needs_tagging = 1',
  row: z.object({ id: z.number(), path: z.string() }),
  async run(song, ctx) {
    if (!song.path.endsWith('.flac')) throw new PermanentError(`${song.path} is not music`)
    // Your own writes, the columns that `done` sets and the end of the claim commit together, or not at all.
    return ctx.complete({ bpm: 100 + song.id }, (tx) => {
      tx.prepare('INSERT OR IGNORE INTO plays (song) VALUES (?)').run(song.id)
    })
  },
  done: ({ bpm }) => ({ bpm, needs_tagging: 0 }),
})

const gleaner = await openGleaner({ database: `sqlite:${file}`, discoveries: [tagSongs] })
const worker = gleaner.work({ discoveries: ['tag-songs'], concurrency: 2 })
await worker.drained()
console.log('tagged:', db.prepare('SELECT id, bpm FROM songs WHERE needs_tagging = 0').all())

// A row that fails for good is quarantined, with its error.
for (const { key, state, error } of (await gleaner.discoveries.rows('tag-songs')).items)
  console.log(`song ${key}: ${state}, ${error?.message}`)
const { reasons } = await gleaner.discoveries.explain('tag-songs', '3')
console.log('what to do:', reasons.find(({ ok }) => !ok)?.fix)

// If you edit the row, Gleaner releases it, and a worker runs it again.
db.exec("UPDATE songs SET path = 'c.flac' WHERE id = 3")
await worker.drained()
console.log('left:', (await gleaner.discoveries.rows('tag-songs')).items.length)

await gleaner.close()
db.close()
