// A task that exists if, and only if, your own transaction commits.
import Database from 'better-sqlite3'
import { z } from 'zod'
import { defineTask, openGleaner } from '../src/index.ts' // in your own project: from 'gleaner'
import { temporaryFile } from './temporary.ts'

const file = temporaryFile('shop.db')
const db = new Database(file)
db.exec('CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE)')

const welcome = defineTask({
  name: 'mail.welcome',
  input: z.object({ userId: z.number(), email: z.string() }),
  run: async ({ email }) => `welcome mail to ${email}`,
})

const gleaner = await openGleaner({ database: `sqlite:${file}`, tasks: [welcome] })
gleaner.work()

/** The user and the mail, or neither. Inside the transaction everything is synchronous, the enqueue too. */
const signUp = db.transaction((email: string) => {
  const { lastInsertRowid } = db.prepare('INSERT INTO users (email) VALUES (?)').run(email)
  return gleaner.within(db).enqueue(welcome, { userId: Number(lastInsertRowid), email })
})

// `immediate`: takes the write lock at once, so that a worker's commit cannot come in between.
const handle = signUp.immediate('ada@example.org')
console.log(await handle.result({ timeout: '10s' }))

try {
  signUp.immediate('ada@example.org') // the address is taken: rolled back
} catch (error) {
  console.log('refused:', (error as Error).message)
}
const { completed, queued } = await gleaner.tasks.counts()
console.log(`tasks: ${completed} completed, ${queued} queued`)

await gleaner.close()
db.close()
