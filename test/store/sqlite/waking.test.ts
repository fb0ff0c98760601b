import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { WakeFile } from '../../../src/store/sqlite/file/wake-file.ts'
import { WakeWatch } from '../../../src/store/sqlite/file/wake-watch.ts'
import { newTask, World } from '../../conformance/world.ts'
import { until } from '../../until.ts'
import { openSqliteDatabase } from '../sqlite-database.ts'
import { connect, freshPath, openStore } from './folder.ts'

const EMPTY = { isOpen: true, found: false }
const FULL = { isOpen: false, found: true }

/** A process reduced to what hears others. */
class Sleeper {
  readonly watch: WakeWatch
  readonly heard: string[] = []

  constructor(path: string, workers = 1) {
    const file = new WakeFile(path)
    this.watch = new WakeWatch(file, {
      workers: () => workers,
      onSignal: (signal) => this.heard.push(signal),
      random: () => 1,
    })
    onTestFinished(() => {
      this.watch.close()
      file.close()
    })
  }

  asks(look: { isOpen: boolean; found: boolean }): this {
    this.watch.asked('1', look)
    return this
  }

  hears(signal: string): Promise<void> {
    return until(`a signal of ${signal}`, () => this.heard.includes(signal))
  }
}

function signals(path: string): WakeFile {
  const file = new WakeFile(path)
  onTestFinished(() => file.close())
  return file
}

async function databasePath(): Promise<string> {
  const path = freshPath()
  await openStore(path)
  return path
}

test('commits that bring no new work wake no other process', async () => {
  const database = await openSqliteDatabase()
  onTestFinished(() => database.destroy())
  const world = new World(database, await database.open())
  const other = await database.open()
  const told: unknown[] = []
  other.onChange((change) => told.push(change), 'signals')
  const wakeFile = () => readFileSync(`${database.path}-wake`).toString('hex')
  await world.enqueue()
  await until('the signal of the task', () => told.length > 0)
  const [before, toldBefore] = [wakeFile(), told.length]

  const worker = await world.worker()
  const claim = await worker.claimOne()
  await worker.complete(claim)
  await world.store.sessions.advanceLeaseClock(30_000)
  await world.store.admin.addMetrics([
    { queue: 'default', name: 'job', enqueued: 1, completed: 1, failed: 0, retried: 0, durations: new Map() },
  ])
  await worker.end('stop')
  expect(wakeFile()).toBe(before)

  await world.enqueue()
  await until('the signal of the second task', () => told.length > toldBefore)
  expect(wakeFile()).not.toBe(before)
  expect(told.slice(toldBefore)).toEqual([{ kind: 'elsewhere', only: 'work' }])
})

test('a worker that found work last time looks at once, and the others follow', async () => {
  const path = await databasePath()
  // Of so many workers the turn of another is far behind.
  const [last, first] = [new Sleeper(path, 1_000).asks(EMPTY), new Sleeper(path, 1_000).asks(EMPTY)]
  first.asks({ isOpen: false, found: true }).asks(EMPTY)
  const order: string[] = []
  const heard = [
    first.hears('work').then(() => order.push('first')),
    last.hears('work').then(() => order.push('last')),
  ]
  signals(path).ring('work')
  await Promise.all(heard)
  expect(order).toEqual(['first', 'last'])
  expect(first.heard).toEqual(['work'])
  expect(last.heard).toEqual(['work'])
})

test('a worker that is full reads no signals of work, but hears of a cancel', async () => {
  const path = await databasePath()
  const full = new Sleeper(path).asks(FULL)
  const [bell, witness] = [signals(path), new Sleeper(path).asks(EMPTY)]
  bell.ring('work')
  await witness.hears('work')
  bell.ring('cancel')
  await full.hears('cancel')
  expect(full.heard).toEqual(['cancel'])
})

test('a worker that was full hears of work again as soon as it has room', async () => {
  const path = await databasePath()
  const worker = new Sleeper(path).asks(FULL)
  const [bell, witness] = [signals(path), new Sleeper(path).asks(EMPTY)]
  bell.ring('work')
  await witness.hears('work')
  worker.asks(EMPTY)
  bell.ring('work')
  await worker.hears('work')
})

test('a wake file that is removed is made again by those who watch it', async () => {
  const path = await databasePath()
  const sleeper = new Sleeper(path).asks(EMPTY)
  const bell = signals(path)
  rmSync(`${path}-wake`)
  await until('there is another', () => statSync(`${path}-wake`, { throwIfNoEntry: false }) !== undefined)
  bell.ring('work')
  await sleeper.hears('work')
})

test('a link in place of the wake file is not followed', async () => {
  const path = await databasePath()
  const victim = `${path}-victim`
  writeFileSync(victim, 'as it was')
  symlinkSync(victim, `${path}-wake`)
  const sleeper = new Sleeper(path).asks(EMPTY)
  signals(path).ring('work')
  expect(sleeper.heard).toEqual([])
  expect(readFileSync(victim, 'utf8')).toBe('as it was')
})

test('the wake file is as private as the database, and goes with the last process', async () => {
  const path = freshPath()
  const [store, other] = [await openStore(path), await openStore(path)]
  store.onChange(() => {}, 'signals')
  expect((statSync(`${path}-wake`).mode & 0o777).toString(8)).toBe('600')
  await store.close()
  expect(statSync(`${path}-wake`, { throwIfNoEntry: false })).toBeDefined()
  await other.close()
  expect(statSync(`${path}-wake`, { throwIfNoEntry: false })).toBeUndefined()
})

test('what is enqueued in a transaction of the user wakes workers when it is committed', async () => {
  const path = freshPath()
  const [store, other] = [await openStore(path), await openStore(path)]
  const here: string[] = []
  const elsewhere: string[] = []
  store.onChange(({ kind }) => here.push(kind), 'signals')
  other.onChange(({ kind }) => elsewhere.push(kind), 'signals')
  const db = connect(path)
  db.exec('BEGIN IMMEDIATE')
  store.tasks.within(db).enqueue([newTask()])
  store.tasks.within(db).enqueue([newTask()])
  await new Promise((resolve) => setImmediate(resolve))
  expect(here).toEqual([])
  db.exec('COMMIT')
  await until('both hear of it', () => here.length > 0 && elsewhere.length > 0)
  expect(here).toEqual(['work'])
})

test('a connection that is closed in its transaction harms nobody', async () => {
  const path = freshPath()
  const store = await openStore(path, { library: 'node:sqlite' })
  const here: string[] = []
  store.onChange(({ kind }) => here.push(kind), 'signals')
  const db = new DatabaseSync(path)
  db.exec('BEGIN IMMEDIATE')
  store.tasks.within(db).enqueue([newTask()])
  db.close()
  await until('it is over', () => here.length > 0)
})
