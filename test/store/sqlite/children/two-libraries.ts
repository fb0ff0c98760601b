import { createRequire } from 'node:module'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { defineTask, type Gleaner, GleanerError, openGleaner, restoreBackup } from '../../../../src/index.ts'
import { copyDatabase } from '../../../../src/maintenance/copy.ts'
import { diagnose } from '../../../../src/store/by-url/diagnosis.ts'

/** In a process of its own, where no other test has loaded a library. Prints what was answered to what it tried. */
const [scene, folder, copy] = process.argv.slice(2)
const task = defineTask({ name: 'task', input: z.number(), run: async () => {} })
const path = (name: string) => `${folder}/${name}.db`
const open = (name: string) => openGleaner({ database: `sqlite:${path(name)}`, tasks: [task] })

async function answerTo(attempt: () => unknown): Promise<string> {
  try {
    await attempt()
    return 'done'
  } catch (error) {
    return error instanceof GleanerError ? error.code : String(error)
  }
}

/** Until it is refused, for a few seconds at most. */
async function enqueueUntilRefused(gleaner: Gleaner): Promise<string> {
  for (const endMs = performance.now() + 10_000; performance.now() < endMs; ) {
    const answer = await answerTo(() => gleaner.enqueue(task, 1))
    if (answer !== 'done') return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return 'never refused'
}

const scenes: Record<string, () => Promise<Record<string, unknown>>> = {
  async copy() {
    const Copy = createRequire(import.meta.url)(copy!) as typeof Database
    const gleaner = await open('first')
    const own = new Database(path('first'))
    own.exec('BEGIN IMMEDIATE')
    const withinOwn = await answerTo(() => gleaner.within(own).enqueue(task, 1))
    own.exec('COMMIT')
    const other = new Copy(path('first'))
    const withinOther = await answerTo(() => gleaner.within(other).enqueue(task, 1))
    const app = new Copy(path('second'))
    app.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text)')
    const opened = await answerTo(() => open('second'))
    const tables = app.prepare('SELECT name FROM sqlite_schema').pluck().all()
    const connected = await answerTo(() => openGleaner({ database: app, tasks: [task] }))
    return { withinOwn, withinOther, opened, tables, connected }
  },
  async closed() {
    const Copy = createRequire(import.meta.url)(copy!) as typeof Database
    const sqlite = { driver: { module: copy! } }
    const database = `sqlite:${path('first')}`
    const gleaner = await openGleaner({ database, sqlite })
    const backup = path('backup')
    await gleaner.maintenance.backup(backup)
    await gleaner.close()
    const app = new Copy(path('first'))
    app.prepare('SELECT * FROM gleaner_tasks').all()
    const restore = (options?: object) => answerTo(() => restoreBackup(backup, { database, ...options }))
    // The app's library sees that the app has it open.
    const restoredWithIt = await restore({ sqlite })
    const source = { from: database, to: 'postgres://nobody@127.0.0.1:1/nothing' }
    const library = { library: sqlite.driver }
    const copiedWithIt = await answerTo(() => copyDatabase({ ...source, dryRun: true, sqlite: library }))
    const restored = await restore()
    const copied = await answerTo(() => copyDatabase({ ...source, dryRun: true }))
    const diagnosed = await answerTo(() => diagnose(database))
    app.close()
    const looker = new Copy(backup, { readonly: true })
    looker.prepare('SELECT * FROM gleaner_tasks').all()
    const verified = await restore()
    looker.close()
    return { restored, restoredWithIt, copied, copiedWithIt, diagnosed, verified, again: await restore() }
  },
  async alone() {
    const gleaner = await open('first')
    const own = new Database(path('first'))
    own.exec('BEGIN IMMEDIATE')
    const within = await answerTo(() => gleaner.within(own).enqueue(task, 1))
    own.exec('COMMIT')
    const enqueued = await answerTo(() => gleaner.enqueue(task, 1))
    return { within, enqueued, closed: await answerTo(() => gleaner.close()) }
  },
  async node() {
    const gleaner = await open('first')
    const enqueued = await answerTo(() => gleaner.enqueue(task, 1))
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    const app = new DatabaseSync(path('first'))
    const within = await answerTo(() => gleaner.within(app).enqueue(task, 1))
    app.prepare('SELECT * FROM sqlite_schema').all()
    const running = await enqueueUntilRefused(gleaner)
    const reading = await answerTo(() => gleaner.tasks.list())
    const closed = await answerTo(() => gleaner.close())
    // It has read nothing yet, so that it holds no lock.
    const unread = new DatabaseSync(path('second'))
    const opened = await answerTo(() => open('second'))
    unread.exec('PRAGMA journal_mode = WAL')
    const connected = await answerTo(() => openGleaner({ database: unread, tasks: [task] }))
    // Of our library, while the other one is used for a file of its own.
    const third = new Database(path('third'))
    third.pragma('journal_mode = WAL')
    const beside = await answerTo(() => openGleaner({ database: third, tasks: [task] }))
    const again = await answerTo(() => open('third'))
    return { enqueued, within, running, reading, closed, opened, connected, beside, again }
  },
}

process.stdout.write(JSON.stringify(await scenes[scene!]!()))
process.exit(0)
