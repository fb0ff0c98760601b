import { once } from 'node:events'
import Database from 'better-sqlite3'

/** Holds a write transaction open: for a while, or until it is let go. */
const [path, forMs] = process.argv.slice(2)
const raw = new Database(path!)
raw.exec('BEGIN IMMEDIATE')
console.log('locked')
if (forMs === undefined) await once(process.stdin.resume(), 'end')
else await new Promise((resolve) => setTimeout(resolve, Number(forMs)))
raw.exec('ROLLBACK')
raw.close()
console.log('released')
process.stdin.destroy()
