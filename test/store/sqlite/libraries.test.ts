import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { checkConfig } from '../../../src/config/check.ts'
import { defineTask, openGleaner } from '../../../src/index.ts'
import { Child } from './children/child.ts'
import { freshPath } from './folder.ts'
import { copyOfLibrary } from './library-copy.ts'

const double = defineTask({ name: 'double', input: z.number(), run: async (n) => n * 2 })

test('a Gleaner on node:sqlite enqueues, runs and backs up', async () => {
  const path = freshPath()
  const gleaner = await openGleaner({
    database: `sqlite:${path}`,
    sqlite: { driver: 'node:sqlite' },
    tasks: [double],
    // The keeper renews on a connection of its own.
    timings: { lease: '300ms', sweep: '50ms' },
  })
  onTestFinished(() => gleaner.close())
  gleaner.work()
  const handle = await gleaner.enqueue(double, 21)
  expect(await handle.result({ timeout: '10s' })).toBe(42)
  const backup = await gleaner.maintenance.backup(`${path}.backup`)
  expect(backup.bytes).toBeGreaterThan(0)
  expect(await gleaner.maintenance.check()).toEqual([])
})

test("openGleaner takes the file and the library of an app's own connection", async () => {
  for (const connect of [(path: string) => new Database(path), (path: string) => new DatabaseSync(path)]) {
    const app = connect(freshPath())
    app.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text)')
    const gleaner = await openGleaner({ database: app, tasks: [double] })
    app.exec('BEGIN IMMEDIATE')
    app.exec("INSERT INTO notes VALUES ('both or neither')")
    const { id } = gleaner.within(app).enqueue(double, 4)
    app.exec('COMMIT')
    expect(await gleaner.tasks.get(id)).toMatchObject({ name: 'double', status: 'queued' })
    await gleaner.close()
    app.close()
  }
})

test('a class that extends the one of the library is known as well', async () => {
  class AppDatabase extends Database {}
  const app = new AppDatabase(freshPath())
  onTestFinished(() => void app.close())
  const gleaner = await openGleaner({ database: app, tasks: [double] })
  await gleaner.close()
})

test('another copy of better-sqlite3 is used if it is named, in threads, too', async () => {
  const copy = copyOfLibrary()
  const path = freshPath()
  const gleaner = await openGleaner({
    database: `sqlite:${path}`,
    sqlite: { driver: { module: copy } },
    tasks: [double],
  })
  onTestFinished(() => gleaner.close())
  const app = new (createRequire(import.meta.url)(copy) as typeof Database)(path)
  onTestFinished(() => void app.close())
  app.exec('BEGIN IMMEDIATE')
  const { id } = gleaner.within(app).enqueue(double, 4)
  app.exec('COMMIT')
  expect((await gleaner.tasks.get(id))?.id).toBe(id)
  expect(await gleaner.maintenance.check()).toEqual([])
})

test('a library that cannot be loaded is refused with what to do', async () => {
  const open = (driver: any) => openGleaner({ database: `sqlite:${freshPath()}`, sqlite: { driver } })
  await expect(open({ module: './not-there' })).rejects.toMatchObject({
    code: 'BAD_CONFIG',
    message: expect.stringContaining('./not-there cannot be loaded'),
    hint: expect.stringContaining('npm install better-sqlite3'),
  })
  await expect(open({ module: 'pg' })).rejects.toMatchObject({ code: 'BAD_CONFIG' })
  await expect(open('sqlite3')).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(
    openGleaner({ database: `sqlite:${freshPath()}`, sqlite: { library: 'x' } as never }),
  ).rejects.toMatchObject({ code: 'BAD_OPTION', hint: expect.stringContaining('There are: driver') })
})

test('a database in memory has no file that could be opened again', async () => {
  const app = new Database(':memory:')
  onTestFinished(() => void app.close())
  await expect(openGleaner({ database: app })).rejects.toMatchObject({ code: 'BAD_CONFIG' })
})

test('the module of a config is looked for from the folder of the config', () => {
  const copy = copyOfLibrary()
  const config = { database: 'sqlite:./app.db', sqlite: { driver: { module: './lib/index.js' } } }
  const { engine } = checkConfig(config, resolve(dirname(dirname(copy)), 'gleaner.config.ts'), {})
  expect(engine.sqlite).toEqual({ driver: { module: copy } })
})

const TORTURE = process.env.GLEANER_TORTURE === '1'

/** Threads of ours open and close the file while the app is in the middle of its transaction. */
test.each([
  ['better-sqlite3', (path: string) => new Database(path, { timeout: 10_000 }), 10_000],
  ['node:sqlite', (path: string) => new DatabaseSync(path, { timeout: 10_000 }), TORTURE ? 10_000 : 2_000],
] as const)(
  "an app's transactions with %s lose no lock beside Gleaner with the same library, while another process writes",
  async (_library, connect, transactions) => {
    const path = freshPath()
    const app = connect(path)
    onTestFinished(() => app.close() as void)
    app.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
    app.exec('CREATE TABLE counted (n INTEGER, by_child INTEGER); INSERT INTO counted VALUES (0, 0)')
    const gleaner = await openGleaner({ database: app, tasks: [double], timings: { lease: '150ms' } })
    onTestFinished(() => gleaner.close())
    gleaner.work()
    const child = new Child(import.meta.resolve('./children/increments.ts'), path)
    await child.says('ready')
    let isOver = false
    const opening = (async () => {
      while (!isOver) await gleaner.maintenance.check()
    })()
    for (let n = 0; n < transactions; n++) {
      app.exec('BEGIN IMMEDIATE')
      const { n: seen } = app.prepare('SELECT n FROM counted').get() as { n: number }
      if (n % 10 === 0) await new Promise(setImmediate)
      app.prepare('UPDATE counted SET n = ?').run(seen + 1)
      app.exec('COMMIT')
      if (n % 100 === 0) await gleaner.enqueue(double, n)
    }
    isOver = true
    await opening
    child.letGo()
    await child.says('done')
    const { n, by_child } = app.prepare('SELECT n, by_child FROM counted').get() as Record<string, number>
    expect(by_child).toBeGreaterThan(0)
    expect(n).toBe(transactions + by_child!)
    expect(app.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  },
)
