import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineTask, type Gleaner, openGleaner } from '../../src/index.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { gone } from '../supervisor/estate.ts'
import { Journey } from './journey.ts'
import { Pty } from './pty/pty.ts'

const CONFIG = `import { defineConfig } from ${GLEANER}
  import { answer, slow } from './tasks.ts'
  export default defineConfig({ database: 'sqlite:./data/app.db', tasks: [answer, slow], server: { port: 0 } })`
const TASKS = `import { setTimeout as sleep } from 'node:timers/promises'
  import { defineTask } from ${GLEANER}
  import { value } from './value.ts'
  export const answer = defineTask({ name: 'answer', async run(_input, ctx) {
    ctx.log.info('thinking', { about: value })
    const { later } = await import('./lazy.ts')
    return { value, later, pid: process.pid }
  } })
  export const slow = defineTask({ name: 'slow', retry: { attempts: 1 }, run: async (_input, ctx) => {
    if (value === 'first') await sleep(600_000, undefined, { signal: ctx.signal })
    return value
  } })`
const FILES = {
  'gleaner.config.ts': CONFIG,
  'tasks.ts': TASKS,
  'value.ts': "export const value = 'first'",
  'lazy.ts': "export const later = 'lazy'",
}
const answer = defineTask<{ value: string; later: string; pid: number }>({ name: 'answer' })
const slow = defineTask<string>({ name: 'slow' })
const WAIT = { timeout: '25s' } as const

function save(folder: string, file: string, text: string): void {
  writeFileSync(join(folder, file), text)
}

async function appOf(folder: string): Promise<Gleaner> {
  const app = await openGleaner({ database: `sqlite:${join(folder, 'data/app.db')}`, tasks: [answer, slow] })
  onTestFinished(() => app.close())
  return app
}

async function started(files: Record<string, string> = FILES) {
  const folder = folderWith(files)
  const dev = new Journey(folder, 'dev')
  await dev.hears(/started in .*; watching \d+ files? for changes; Ctrl-C stops/)
  return { folder, dev, app: await appOf(folder) }
}

/** All lines about changed files. */
function changes({ said }: Journey): string[] {
  return [...said.matchAll(/↻ (.*) changed/g)].map(([, what]) => what!)
}

describe('gleaner dev', { concurrent: false }, () => {
  test('makes the database, runs what the config names without pools, logs each task, and says where the dashboard is', async () => {
    const { dev, app } = await started()
    expect(dev.said).toMatch(/database {2}sqlite:\S+data\/app\.db \(new\)/)
    const [, address] = await dev.hears(/dashboard: (http:\S+)\/#token=\S+/)
    expect((await fetch(`${address}/healthz`)).status).toBe(200)
    const { id } = await app.enqueue(answer)
    await dev.hears(new RegExp(`dev:0 answer ${id}: thinking {"about":"first"}`))
    await dev.hears(new RegExp(`✓ dev:0 answer ${id} completed in \\d+ ms`))
    expect(dev.said).not.toContain('\x1b')
    dev.signal('SIGINT')
    expect(await dev.ended).toEqual({ code: 0, signal: null })
  })

  test('a changed file is in effect for the next task, whether the config imports it or a handler does later', async () => {
    const { folder, dev, app } = await started()
    expect(await (await app.enqueue(answer)).result(WAIT)).toMatchObject({ value: 'first', later: 'lazy' })
    save(folder, 'value.ts', "export const value = 'second'")
    await dev.hears(/↻ value\.ts changed[\s\S]*restarted in/)
    expect(await (await app.enqueue(answer)).result(WAIT)).toMatchObject({ value: 'second', later: 'lazy' })
    save(folder, 'lazy.ts', "export const later = 'prompt'")
    await dev.hears(/↻ lazy\.ts changed[\s\S]*restarted in/)
    expect(await (await app.enqueue(answer)).result(WAIT)).toMatchObject({ value: 'second', later: 'prompt' })
    // The address is the same, and so is not printed again, unless another process took the port.
    save(folder, 'gleaner.config.ts', CONFIG.replace('tasks: [', 'pools: { mail: {} }, tasks: ['))
    await dev.hears(/↻ gleaner\.config\.ts changed[\s\S]*restarted in/)
    const { id } = await app.enqueue(answer)
    await dev.hears(new RegExp(`✓ mail:0 answer ${id} completed`))
  })

  test('a restart gives running tasks back: they lose no attempt, and count no crash', async () => {
    const { folder, dev, app } = await started()
    const handle = await app.enqueue(slow)
    await expect
      .poll(async () => (await app.tasks.get(handle.id))?.status, { timeout: 20_000 })
      .toBe('running')
    save(folder, 'value.ts', "export const value = 'second'")
    await dev.hears(new RegExp(`slow ${handle.id} went back unfinished and lost no attempt`))
    // With one attempt, it would be failed if this had counted.
    expect(await handle.result(WAIT)).toBe('second')
    expect(await app.tasks.get(handle.id)).toMatchObject({ attempts: 1, crashes: 0 })
    expect((await app.workers.list()).map(({ restarts }) => restarts)).toEqual([{ recent: 0, total: 0 }])
  })

  test('an error in the code is shown with its place, the version before works on, and the fix is picked up', async () => {
    const { folder, dev, app } = await started()
    save(folder, 'value.ts', 'export const value = {')
    await dev.hears(
      /value\.ts:1\n.*export const value = {[\s\S]*the version before keeps running; save the fix/,
    )
    expect(await (await app.enqueue(answer)).result(WAIT)).toMatchObject({ value: 'first' })
    // While the app does not load, any source file may be the fix. These are none.
    for (const other of ['node_modules', 'dist', '.cache']) {
      mkdirSync(join(folder, other))
      save(folder, `${other}/a.js`, '1')
    }
    save(folder, 'data/app.db.backup', '1')
    save(folder, 'value.ts', "import { third } from './third.ts'\nexport const value = third")
    await dev.hears(/Cannot find module '.*third\.ts'/)
    save(folder, 'third.ts', "export const third = 'third'")
    await dev.hears(/↻ third\.ts changed[\s\S]*restarted in/)
    expect(await (await app.enqueue(answer)).result(WAIT)).toMatchObject({ value: 'third' })
    expect(changes(dev)).toEqual(['value.ts', 'value.ts', 'third.ts'])
  })

  test('a config that is wrong from the start is explained, and its fix starts everything', async () => {
    const folder = folderWith({ ...FILES, 'gleaner.config.ts': CONFIG.replace('tasks:', 'taks:') })
    const dev = new Journey(folder, 'dev')
    await dev.hears(/gleaner\.config\.ts: .*taks.*\n[\s\S]*nothing runs; save the fix to start/)
    save(folder, 'gleaner.config.ts', CONFIG)
    await dev.hears(/started in/)
    const app = await appOf(folder)
    expect(await (await app.enqueue(answer)).result(WAIT)).toMatchObject({ value: 'first' })
  })

  test('if gleaner dev is killed, its workers end, too', async () => {
    const { dev, app } = await started()
    const { pid } = await (await app.enqueue(answer)).result(WAIT)
    dev.signal('SIGKILL')
    await gone(pid)
  })

  test('without a config it says how to begin', async () => {
    const dev = new Journey(folderWith({}), 'dev')
    expect((await dev.ended).code).toBe(1)
    expect(dev.said).toMatch(/there is no gleaner\.config\.ts.*\n.*gleaner init/)
  })

  test('on a terminal it is coloured, with NO_COLOR it is not, and one Ctrl-C ends all of it', async () => {
    for (const [env, isColoured] of [
      [{}, true],
      [{ NO_COLOR: '1' }, false],
    ] as const) {
      const folder = folderWith(FILES)
      const dev = new Pty(folder, ['dev'], { env })
      await dev.shows(/Ctrl-C stops/)
      expect(dev.raw.includes('\x1b[')).toBe(isColoured)
      dev.type('\x03')
      expect((await dev.ended).code).toBe(0)
      expect(existsSync(join(folder, 'data/app.db'))).toBe(true)
    }
  })
})
