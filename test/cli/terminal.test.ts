import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/http/index.ts'
import { defineDiscovery, defineTask, type Gleaner, openGleaner } from '../../src/index.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { until } from '../until.ts'
import { Pty } from './pty/pty.ts'

const CONFIG = `import { defineConfig, defineTask } from ${GLEANER}
  export default defineConfig({ database: 'sqlite:./app.db', tasks: [defineTask({ name: 'mail', run: async () => {} })] })`
const EVIL = '\x1b]0;owned\x07\x1b[2J\x9b31mnot so bad'
const mail = defineTask({
  name: 'mail',
  retry: { attempts: 1 },
  run: async () => {
    throw new Error(EVIL)
  },
})
const files = defineDiscovery({
  name: 'tag-files',
  table: 'files',
  key: 'id',
  where: 'tagged = 0',
  retry: { attempts: 1 },
  run: async () => {
    throw new Error(EVIL)
  },
  done: () => ({ tagged: 1 }),
})

/** A project with three tasks that have failed and two rows that are quarantined. */
async function project(): Promise<{ folder: string; app: Gleaner }> {
  const folder = folderWith({ 'gleaner.config.ts': CONFIG })
  const path = join(folder, 'app.db')
  const db = new Database(path)
  db.exec(`CREATE TABLE files (id INTEGER PRIMARY KEY, tagged INTEGER); CREATE INDEX waiting ON files (id) WHERE tagged = 0;
    INSERT INTO files (tagged) VALUES (0), (0)`)
  db.close()
  const app = await openGleaner({ database: `sqlite:${path}`, tasks: [mail], discoveries: [files] })
  onTestFinished(() => app.close())
  await app.enqueue(mail, undefined, { key: EVIL })
  await app.enqueueMany(mail, [undefined, undefined])
  const worker = app.work({ queues: ['default'], discoveries: ['tag-files'] })
  await worker.drained()
  await until(
    'both are quarantined',
    async () => (await app.discoveries.stats('tag-files')).quarantined === 2,
  )
  await worker.stop()
  return { folder, app }
}

const UP = '\x1b[A'
const DOWN = '\x1b[B'

describe('gleaner top', () => {
  test('shows all, and pauses, resumes, retries and releases what is chosen, at any size of the terminal', async () => {
    const { folder, app } = await project()
    const top = new Pty(folder, ['top'])
    await top.shows(/^Gleaner on sqlite:.*app\.db$/m)
    expect(top.screen).toMatchObject({ isAlternate: true, hasCursor: false })
    await top.shows(/^default +0 +0 +0 +0 +0 +3 +0$/m)
    await top.shows(/^tag-files +0 +0 +0 +0 +2$/m)
    await top.shows((screen) => screen.lines.at(-1)!.startsWith('↑↓ select  p pause everything'))

    top.type(DOWN)
    await top.shows(/t retry failed tasks {2}q quit$/)
    top.type('p')
    await top.shows(/^default .* paused$/m)
    await top.shows(/^queue default is paused$/m)
    expect((await app.queues.list())[0]?.paused).toBe(true)
    top.type('r')
    await top.shows(/^queue default is resumed$/m)

    top.type('t')
    await top.shows(/^Retry 3 failed tasks of default\? y\/n$/m)
    top.type('n')
    await top.shows(/^nothing was done$/m)
    top.type('t')
    await top.shows(/^Retry 3 failed tasks of default\? y\/n$/m)
    top.type('y')
    await top.shows(/^3 tasks of default retried$/m)
    await top.shows(/^default +3 +0 +0 +0 +0 +0 +0$/m)
    // An alert comes by itself: what was retried waits for nobody.
    await top.shows(/^ {2}3 waiting in default that no live worker serves: mail$/m)

    top.type(DOWN)
    await top.shows(/t release quarantined rows/)
    top.type('t')
    await top.shows(/^Release 2 quarantined rows of tag-files\? y\/n$/m)
    top.type('y')
    await top.shows(/^2 rows of tag-files released$/m)
    await top.shows(/^tag-files +2 +0 +0 +0 +0$/m)

    top.resize(40, 8)
    await top.shows(({ lines }) => lines.length === 8 && lines.at(-1)!.startsWith('↑↓ select  p pause'))
    await top.shows(({ lines }) => lines.some((line) => line.startsWith('tag-files')))
    expect(top.screen.lines.every((line) => line.length < 40)).toBe(true)
    top.type(UP + UP + UP + UP)
    await top.shows(/^Gleaner on/)
    top.resize(120, 40)
    await top.shows(({ lines }) => lines.length === 40 && lines.at(-1)!.startsWith('↑↓ select'))
    await top.shows(/^default +3 /m)

    top.type('q')
    expect(await top.ended).toEqual({ code: 0, restored: true })
    expect(top.screen).toMatchObject({ isAlternate: false, hasCursor: true, wraps: true, text: '' })
  })

  test('of a server that goes away says so, keeps what it knew, and goes on when it is back', async () => {
    const { folder, app } = await project()
    const server = await serve(app, { port: 0, local: true })
    onTestFinished(() => server.close())
    const top = new Pty(folder, ['top', '--url', server.url])
    await top.shows(/^Gleaner on http:.*\n[\s\S]*^default +0 +0 +0 +0 +0 +3 +0$/m)
    await server.close()
    await top.shows(/^http:\S+ does not answer: ECONNREFUSED$/m)
    await top.shows(/^default +0 +0 +0 +0 +0 +3 +0$/m)
    const again = await serve(app, { port: server.port, local: true })
    onTestFinished(() => again.close())
    await top.shows(({ text }) => !text.includes('ECONNREFUSED'))
    top.type('\x03')
    expect(await top.ended).toEqual({ code: 0, restored: true })
    expect(top.screen).toMatchObject({ isAlternate: false, hasCursor: true, wraps: true })
  })
})

describe('prompts', () => {
  const ask = (folder: string, env = {}) =>
    new Pty(folder, ['tasks', 'remove', '--queue', 'default'], { env })

  test.each([
    ['\r', 'nothing'],
    ['\x03', 'Ctrl-C'],
    ['\x04', 'Ctrl-D'],
  ])('answered with %j (%s) destroy nothing', async (keys) => {
    const { folder, app } = await project()
    const remove = ask(folder)
    await remove.shows(/^Remove 3 tasks: 3 failed\? \[y\/N\]$/m)
    remove.type(keys)
    expect(await remove.ended).toEqual({ code: 1, restored: true })
    expect(remove.screen.text).toMatch(/nothing was changed$/)
    expect((await app.tasks.counts()).failed).toBe(3)
  })

  test('answered with yes do it', async () => {
    const { folder, app } = await project()
    const remove = ask(folder)
    await remove.shows(/^Remove 3 tasks: 3 failed\? \[y\/N\]$/m)
    remove.type('y\r')
    expect(await remove.ended).toEqual({ code: 0, restored: true })
    expect(remove.screen.text).toMatch(/\n3 tasks removed: 3 failed$/)
    expect((await app.tasks.counts()).failed).toBe(0)
  })
})

test('long work shows that it goes on, and leaves nothing of it behind', async () => {
  const { folder } = await project()
  const wait = new Pty(folder, ['enqueue', 'mail', '--wait', '2s'])
  await wait.shows(/^waiting … \d s {2}queued$/m)
  expect((await wait.ended).code).toBe(1)
  expect(wait.screen.text).toBe('enqueued mail as task 4\ntask 4 is still queued; the task continues')
})

test.each([
  [{}, true],
  [{ NO_COLOR: '1' }, false],
])('what strangers wrote commands no terminal, with %j', async (env, hasColours) => {
  const { folder } = await project()
  // The screen knows our own sequences alone, and fails at any other.
  const show = new Pty(folder, ['tasks', 'show', '1'], { env, columns: 160, rows: 60 })
  expect((await show.ended).code).toBe(0)
  const harmless = '\\u001b]0;owned\\u0007\\u001b[2J\\u009b31mnot so bad'
  expect(show.screen.text).toContain(`\nError: ${harmless}`)
  expect(show.screen.text).toContain(`\n  key         ${harmless}\n`)
  expect(show.raw.includes('\x1b[')).toBe(hasColours)
})
