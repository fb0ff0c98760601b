import Database from 'better-sqlite3'
import { argument, say, whenTold } from '../program.ts'

/** An app that knows nothing of us: it writes to its own tables, as fast as it can, with SQLite's usual patience. */
const { database } = argument<{ database: string }>()
const db = new Database(database.slice('sqlite:'.length), { timeout: 10_000 })
const insert = db.prepare('INSERT INTO notes (text) VALUES (?)')
const write = db.transaction(() => {
  for (let n = 0; n < 5; n++) insert.run(`note ${n}`)
})

let count = 0
let stopped = false
whenTold('stop', () => {
  stopped = true
})
say('writing')
while (!stopped) {
  write.immediate()
  count += 5
  // Its own event loop turns, and hears us.
  await new Promise((resolve) => setTimeout(resolve, 1))
}
db.close()
say('wrote', { count })
