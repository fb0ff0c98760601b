import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { serve } from '../../src/http/index.ts'
import { openGleaner } from '../../src/index.ts'
import { openBrowser } from './browser.ts'
import { lineTo } from './line.ts'

// npm run screenshots -- --url 'http://127.0.0.1:8356/#token=…' [--to folder] [--only name]: every page, at three widths, light and dark,
// of a server that runs (`npm start`); and the states that a page has when there is nothing, or nobody answers.
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8356' },
    to: { type: 'string', default: join(import.meta.dirname, '../../.cache/screenshots') },
    only: { type: 'string', default: '' },
  },
})
const SIZES = {
  desktop: { width: 1280, height: 900 },
  tablet: { width: 820, height: 1100 },
  phone: { width: 390, height: 844 },
}
const THEMES = ['light', 'dark'] as const
const SETTLED_MS = 1_500
const HEIGHT_MAX = 4_000

const address = new URL(values.url)
const token = /^#token=(.+)$/.exec(address.hash)?.[1]
const answer = await ask('/info').catch(() => null)
if (!answer?.ok) {
  console.error(
    `No answer from ${address.origin}${answer === null ? '' : ` but ${answer.status}`}. Start a server (npm start), and pass the address that it prints: --url '…#token=…'.`,
  )
  process.exit(1)
}
const get = async (path: string) => (await ask(path)).json() as Promise<any>
const firstOf = async (status: string) => {
  const { items } = await get(`/tasks?status=${status}&limit=50`)
  // The one that stays so for the longest.
  const last = items.toSorted((a: any, b: any) => (b.runAfter ?? 0) - (a.runAfter ?? 0))[0]
  return `/tasks/${last?.id}`
}
const discovery = (await get('/discoveries')).items[0]?.name
/** Asked for when it is wanted: by then another one may be in that state. */
const pages: Record<string, string | (() => Promise<string>)> = {
  overview: '/',
  tasks: '/tasks',
  'tasks-failed': '/tasks?status=failed',
  'task-failed': () => firstOf('failed'),
  'task-waiting': () => firstOf('scheduled'),
  'task-running': () => firstOf('running'),
  'task-completed': () => firstOf('completed'),
  enqueue: '/enqueue',
  queues: '/queues',
  discoveries: '/discoveries',
  discovery: `/discoveries/${discovery}`,
  quarantined: `/discoveries/${discovery}?state=quarantined`,
  workers: '/workers',
  system: '/system',
}
const EMPTY_PAGES = ['/', '/tasks', '/enqueue', '/queues', '/discoveries', '/workers', '/system']

mkdirSync(values.to, { recursive: true })
const browser = await openBrowser()
const folder = join(tmpdir(), `gleaner-empty-${process.pid}`)
mkdirSync(folder)
const gleaner = await openGleaner({ database: `sqlite:${folder}/app.db` })
const empty = await serve(gleaner, { port: 0, local: true })
for (const [size, viewport] of Object.entries(SIZES))
  for (const colorScheme of THEMES) await shootAll(`${size}-${colorScheme}`, { viewport, colorScheme })
await browser.close()
await empty.close()
await gleaner.close()
rmSync(folder, { recursive: true })
console.log(`Screenshots are in ${values.to}`)

function ask(path: string): Promise<Response> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return fetch(`${address.origin}/api/v1${path}`, { headers })
}

/** The address of a page, with what signs the browser in. */
function signedIn(path: string): string {
  return address.origin + path + address.hash
}

async function shootAll(suffix: string, look: BrowserContextOptions): Promise<void> {
  const shoot = (name: string, arrange: (page: Page) => Promise<unknown>) =>
    name.includes(values.only) ? shot(browser, look, join(values.to, `${name}-${suffix}.png`), arrange) : null
  for (const [name, path] of Object.entries(pages))
    await shoot(name, async (page) => {
      await page.goto(signedIn(typeof path === 'string' ? path : await path()))
      await page.locator('.connection[data-state=live]').waitFor()
    })
  for (const path of EMPTY_PAGES)
    await shoot(`state-empty-${path.slice(1) || 'overview'}`, (page) => page.goto(empty.url + path))
  await shoot('state-loading', async (page) => {
    await page.route('**/api/v1/{stats,tasks}*', () => {})
    await page.goto(signedIn('/tasks'))
  })
  await shoot('state-error', async (page) => {
    const body = { error: { code: 'INTERNAL', message: 'something went wrong', hint: 'The log says what.' } }
    await page.route('**/api/v1/tasks*', (route) => route.fulfill({ status: 500, json: body }))
    await page.goto(signedIn('/tasks'))
  })
  await shoot('state-disconnected', async (page) => {
    const line = await lineTo(address.origin)
    await page.goto(line.url + address.hash)
    await page.locator('.connection[data-state=live]').waitFor()
    await line.cut()
    await page.getByText(/The server does not answer/).waitFor()
  })
  await shoot('state-unauthorised', async (page) => {
    const body = { error: { code: 'UNAUTHORIZED', message: 'who are you?', hint: null } }
    await page.route('**/api/v1/**', (route) => route.fulfill({ status: 401, json: body }))
    await page.goto(address.origin)
  })
}

/** As high as the page is: what is fixed to the window stands where it belongs. */
async function shot(
  browser: Browser,
  look: BrowserContextOptions,
  path: string,
  arrange: (page: Page) => Promise<unknown>,
): Promise<void> {
  const page = await browser.newPage(look)
  await arrange(page)
  await page.waitForTimeout(SETTLED_MS)
  const height = await page.evaluate('document.documentElement.scrollHeight')
  const { width, height: usual } = look.viewport!
  await page.setViewportSize({ width, height: Math.min(Math.max(usual, height as number), HEIGHT_MAX) })
  await page.waitForTimeout(SETTLED_MS / 5)
  await page.screenshot({ path })
  await page.close()
}
