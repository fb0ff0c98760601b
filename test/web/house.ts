import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest'
import { Journey } from '../cli/journey.ts'
import { checkout, folderWith, GLEANER } from '../config/files.ts'
import { ask } from '../http/server.ts'
import { openBrowser } from './browser.ts'

/** Markup that would run, should anything ever be shown as anything but text. */
export const HOSTILE = `"><img src=x onerror="window.__hacked=1"><script>window.__hacked=1</script>\u202e'{{7*7}}`

/** Generous: it only bounds a test that is failing anyway. */
const PATIENCE_MS = 60_000

const ZOD = JSON.stringify(join(checkout, 'node_modules/zod/index.js'))
const CONFIG = `import { defineConfig, defineDiscovery, defineTask } from ${GLEANER}
import { z } from ${ZOD}
const mail = defineTask({
  name: 'mail.send', retry: { attempts: 1 },
  input: z.object({ to: z.string().min(3), kind: z.enum(['welcome', 'invoice']), copies: z.number().int().optional() }),
  run: async ({ to }, ctx) => {
    ctx.log.info('sending to ' + to, { to })
    if (to.startsWith('bad')) throw new Error('no such address: ' + to)
    return { sent: to, ticket: JSON.rawJSON('9007199254740993') }
  },
})
const film = defineTask({
  name: 'film.export', queue: 'media', retry: { attempts: 9 }, input: z.object({ title: z.string() }),
  run: async (_input, ctx) => {
    await ctx.progress(0.25, 'frame 25')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    throw ctx.signal.reason
  },
})
const embed = defineTask({ name: 'ml.embed', queue: 'gpu', requires: { gpu: true }, input: z.any(), run: async () => {} })
const nightly = defineTask({ name: 'nightly', every: '0 3 * * *', timezone: 'UTC', run: async () => 'done' })
const tag = defineDiscovery({
  name: 'tag-files', table: 'files', key: 'path', where: 'tagged = 0', retry: { attempts: 1 },
  run: async (row) => { if (row.broken === 1) throw new Error('no decoder: ' + row.path) },
  done: () => ({ tagged: 1 }),
})
export default defineConfig({
  database: 'sqlite:./app.db', tasks: [mail, film, embed, nightly], discoveries: [tag],
  queues: { media: { concurrency: 2 } },
  pools: {
    main: { processes: 1, concurrency: 4, queues: ['default'], discoveries: ['tag-files'] },
    media: { processes: 1, concurrency: 2, queues: ['media'] },
  },
  supervisor: { name: 'web-test', timings: { commands: 100, registry: 200, drain: 200 } },
  server: { port: 0, local: true },
})`

export interface House {
  url: string
  /** The user's own table. */
  sql(statement: string, ...values: unknown[]): void
  /** Something that happens elsewhere: not in this page. */
  post(path: string, body?: unknown): Promise<any>
  get(path: string): Promise<any>
  /** A page of the dashboard; what goes wrong in it fails the test. */
  visit(path: string, options?: { url?: string; token?: string }): Promise<Page>
}

/** `gleaner start` on a database of its own, and a browser: once for a file of tests. */
export function openHouse(): House {
  const house = {} as House
  const closing: (() => unknown)[] = []
  // A browser beside a dozen processes on two cores takes its time.
  vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })
  beforeAll(async () => {
    execFileSync(process.execPath, [join(checkout, 'tools/web/build.ts'), '--if-needed'])
    const folder = folderWith({ 'gleaner.config.ts': CONFIG }, (remove) => closing.push(remove))
    const db = new Database(join(folder, 'app.db'))
    closing.push(() => db.close())
    db.pragma('journal_mode = WAL')
    db.exec(
      `CREATE TABLE files (path TEXT PRIMARY KEY, broken INTEGER NOT NULL DEFAULT 0, tagged INTEGER NOT NULL DEFAULT 0)`,
    )
    const browser = await openBrowser()
    closing.push(() => browser.close())
    const start = new Journey({ cwd: folder, env: {}, whenOver: (end) => closing.push(end) }, 'start')
    // In order: killed, it would leave the films to workers that never finish them.
    closing.push(async () => {
      start.signal('SIGTERM')
      await start.ended
    })
    const url = (await start.hears(/serving (http:\S+)/))[1]!
    const call = async (path: string, method: string, body?: unknown) => {
      const said = await ask(url, `/api/v1${path}`, { method, body })
      expect(said.status, JSON.stringify(said.body)).toBeLessThan(300)
      return said.body
    }
    Object.assign(house, {
      url,
      sql: (statement: string, ...values: unknown[]) => void db.prepare(statement).run(...values),
      post: (path: string, body?: unknown) => call(path, 'POST', body),
      get: (path: string) => call(path, 'GET'),
      async visit(path: string, { url: other = url, token }: { url?: string; token?: string } = {}) {
        const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
        const page = await context.newPage()
        page.setDefaultTimeout(PATIENCE_MS)
        watch(page)
        onTestFinished(() => context.close())
        await page.goto(other + path + (token === undefined ? '' : `#token=${token}`))
        return page
      },
    } satisfies House)
  }, 180_000)
  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  })
  return house
}

const problems = new WeakMap<Page, string[]>()

function watch(page: Page): void {
  const found: string[] = []
  problems.set(page, found)
  page.on('pageerror', (error) => found.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') found.push(message.text())
  })
}

/** What the page complained of, but for what the test did to it on purpose. */
export function complaintsOf(page: Page, expected?: RegExp): string[] {
  return problems.get(page)!.filter((text) => expected === undefined || !expected.test(text))
}
