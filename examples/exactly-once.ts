// Exactly once: the handler's own writes and the completion of the task are one transaction.
// Here the first attempt fails after its write, so the write is undone.
import Database from 'better-sqlite3'
import { z } from 'zod'
import { defineTask, openGleaner } from '../src/index.ts' // in your own project: from 'gleaner'
import { temporaryFile } from './temporary.ts'

// Gleaner's tables are in the app's own database file, so one transaction can write to both.
const file = temporaryFile('bank.db')
const db = new Database(file)
db.exec('CREATE TABLE bookings (account TEXT NOT NULL, cents INTEGER NOT NULL, fence INTEGER NOT NULL)')

const book = defineTask({
  name: 'bank.book',
  input: z.object({ account: z.string(), cents: z.number().int() }),
  retry: { attempts: 3, base: '50ms' },
  run({ account, cents }, ctx) {
    // Do slow or asynchronous work here, before the transaction.
    return ctx.complete({ booked: cents }, (tx) => {
      tx.prepare('INSERT INTO bookings VALUES (?, ?, ?)').run(account, cents, ctx.fence)
      if (ctx.attempt === 1) throw new Error('an error after the write')
    })
  },
})

const gleaner = await openGleaner({ database: `sqlite:${file}`, tasks: [book] })
gleaner.work()

const handle = await gleaner.enqueue(book, { account: 'Ada', cents: 1250 })
console.log('result:', await handle.result({ timeout: '10s' }))

for (const { attempt, outcome, error } of await gleaner.tasks.attempts(handle.id)) {
  console.log(`attempt ${attempt}: ${outcome}${error ? ` (${error.message})` : ''}`)
}
console.log('bookings:', db.prepare('SELECT account, cents FROM bookings').all())

await gleaner.close()
db.close()
