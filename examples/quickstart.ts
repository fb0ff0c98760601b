// Gleaner in ten seconds: `npm start`. A small web shop enqueues some hundred tasks of several kinds. `gleaner start` runs
// the worker processes. They also find rows of the shop's own table that need work.
// With --stay (`npm start` passes it) the shop continues afterwards, so that you can use the dashboard.
// The tasks are in quickstart/tasks.ts, the table in quickstart/catalogue.ts, the pools in quickstart/gleaner.config.ts.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Gleaner, type Handle, openGleaner, type TaskRecord } from '../src/index.ts' // in your own project: from 'gleaner'
import { count } from './python/tasks.ts'
import { Activity } from './quickstart/activity.ts'
import { keepBusy } from './quickstart/busy.ts'
import * as catalogue from './quickstart/catalogue.ts'
import { showLive } from './quickstart/display.ts'
import { freePort } from './quickstart/free-port.ts'
import { hangUp } from './quickstart/photos.ts'
import { printRows, printSummary } from './quickstart/summary.ts'
import * as tasks from './quickstart/tasks.ts'
import { duration, percentile, plural, style } from './quickstart/text.ts'
import { Workers } from './quickstart/workers.ts'

// If the reader of the output ends (`npm start | head`), the program ends.
process.stdout.on('error', () => process.exit(1))

// One file is all that you set up. Gleaner creates its tables in it when it first opens it.
const kept = process.env.GLEANER_DATABASE || undefined
const database = kept ?? `sqlite:${join(temporaryFolder(), 'quickstart.db')}`
const port = process.argv.includes('--stay') ? await freePort(8356) : null
// In your own project `gleaner start` makes a token and prints the address of the dashboard with it.
const token = randomBytes(24).toString('base64url')
const dashboard = `Dashboard: http://127.0.0.1:${port}/#token=${token}`
if (port !== null) {
  await hangUp(database)
  console.log(`${dashboard} (when the workers have started)\n`)
}
await catalogue.stockUp(database)
const describe = catalogue.describe(database)
const gleaner = await openGleaner({
  database,
  tasks: [...Object.values(tasks), count],
  discoveries: [describe],
})
const before = await gleaner.tasks.counts()
const unfinished = before.scheduled + before.queued + before.running
if (unfinished > 0) console.log(`${plural(unfinished, 'task')} of an earlier run will be finished, too.`)

// 1. Enqueue. When the promise resolves, the tasks are on disk: no crash loses them.
const enqueuedAt = performance.now()
const { handles, keyed, again, film } = await enqueueEverything(gleaner)
const took = duration(performance.now() - enqueuedAt)
console.log(`${plural(handles.length, 'task')} enqueued in ${took}, each on disk.`)
console.log(`${catalogue.PRODUCTS} products without a text, in a table of the shop's own.\n`)

// 2. Work: `gleaner start` with the config that names the pools. With PostgreSQL it can run on another machine.
const workers = new Workers(database, port === null ? null : { port, token })
const activity = new Activity(gleaner, before, describe, catalogue.PRODUCTS, cancelFilm)
const stopShowing = showLive(activity)

// 3. Wait until no work is left, delayed tasks and retries included, or until you press Ctrl-C.
const drained = activity.untilDrained().then(() => 'drained' as const)
const stopped = interrupted()
const ending = await Promise.race([drained, stopped, workers.failed()])

// 4. Stop, and print the results.
activity.stop()
if (ending !== 'drained') await workers.stop()
const { elapsedMs } = activity
stopShowing()
const records = await Promise.all(handles.map((handle) => gleaner.tasks.get(handle.id)))
printSummary(
  records.filter((record) => record !== null),
  elapsedMs,
)
await printRows(gleaner, describe.name, catalogue.PRODUCTS)
if (ending === 'drained') await printTheRest()
else console.log(`\nStopped by ${ending}: ${whatRemains()}`)
if (ending === 'drained' && port !== null) await stay()
await workers.stop()
await gleaner.close()
process.exitCode = ending === 'drained' ? 0 : 128 + constants.signals[ending]

/** A running task can be cancelled, from here or from any other process. */
function cancelFilm({ id, name, progress }: TaskRecord): void {
  if (name === tasks.film.name && (progress?.fraction ?? 0) >= 0.15)
    gleaner.tasks.cancel(id).catch(console.error)
}

async function enqueueEverything(gleaner: Gleaner) {
  const numbers = (count: number) => Array.from({ length: count }, (_, number) => ({ number }))
  const handles: Handle<unknown>[] = [
    // Many at once: Gleaner checks all inputs, then writes them in a few commits.
    ...(await gleaner.enqueueMany(
      tasks.mail,
      numbers(240).map(({ number }) => ({ number, to: `customer-${number}@example.org` })),
    )),
    ...(await gleaner.enqueueMany(tasks.webhook, numbers(30))),
    ...(await gleaner.enqueueMany(tasks.feed, numbers(4))),
    // Money first: 1 is the highest priority, 100 the default, 1000 the lowest.
    ...(await gleaner.enqueueMany(tasks.charge, numbers(12), { priority: 10 })),
    ...(await gleaner.enqueueMany(tasks.resize, numbers(14))),
  ]
  // Later: at a time, or after a delay.
  for (const { number } of numbers(20)) {
    handles.push(await gleaner.enqueue(tasks.report, { number }, { runAfter: 1_000 + number * 200 }))
  }
  // A key: while this task is unfinished, a second enqueue with the same key creates no task.
  const keyed = await gleaner.enqueue(tasks.reindex, { shop: 'north' }, { key: 'north', runAfter: '1s' })
  const again = await gleaner.enqueue(tasks.reindex, { shop: 'north' }, { key: 'north' })
  const film = await gleaner.enqueue(tasks.film, { number: 1 }, { priority: 1 })
  return { handles: [...handles, keyed, film], keyed, again, film }
}

/** Resolves with the signal. A second one ends the program at once. */
function interrupted(): Promise<'SIGINT' | 'SIGTERM' | 'SIGHUP'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1))
        resolve(signal)
      })
    }
  })
}

async function printTheRest(): Promise<void> {
  const { progress } = (await gleaner.tasks.get(film.id)) ?? {}
  const { documents } = await keyed.result()
  console.log(`
${style('bold', 'Other things to see')}
  cancelled    ${tasks.film.name} ${film.id}, while it ran, at ${Math.round((progress?.fraction ?? 0) * 100)} %
  asked twice  ${tasks.reindex.name} with the key "north": the second enqueue answered
               created: ${again.created}, id ${again.id}, the first one's; result: ${documents} documents
  round trip   ${duration(await roundTripMs())} from enqueue to result, for one task on an idle worker

${style('bold', 'What to try next')}
  GLEANER_DATABASE=sqlite:./demo.db npm start
      keeps the file: stop it half-way, even with kill -9, and start it again
  sqlite3 demo.db 'SELECT * FROM gleaner_failures'
      the tables and views are yours to read
  examples/first-task.ts, docs/guide/
      a task in twenty lines, and how it all works`)
}

/** 5. The shop continues until you press Ctrl-C. */
async function stay(): Promise<void> {
  console.log(
    '\nThe shop continues, with a worker in Python and a photo that kills each worker that opens it.',
  )
  console.log(`Open the dashboard. Ctrl-C stops everything.\n${style('bold', dashboard)}`)
  const over = new AbortController()
  const busy = keepBusy(gleaner, database, over.signal)
  await Promise.race([stopped, busy, workers.failed()])
  over.abort()
  await busy
}

/** The median. */
async function roundTripMs(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 25; i++) {
    const startedAt = performance.now()
    const handle = await gleaner.enqueue(tasks.ping)
    await handle.result()
    times.push(performance.now() - startedAt)
  }
  return percentile(times, 0.5)
}

function whatRemains(): string {
  if (kept === undefined) return 'the temporary database is removed.'
  const withoutPassword = kept.replace(/:[^:/@]*@/, '@')
  return `the rest is in ${withoutPassword}. It continues when you start again.`
}

/** Removed when the program ends. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-quickstart-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
