import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openBrowser } from './browser.ts'

// npm run screenshots -- --url http://127.0.0.1:8356 [--to folder] [--only name]: every page, phone and desktop, light and dark.
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8356' },
    to: { type: 'string', default: join(import.meta.dirname, '../../.cache/screenshots') },
    only: { type: 'string' },
  },
})
const SIZES = { desktop: { width: 1280, height: 900 }, phone: { width: 375, height: 812 } }
const THEMES = ['light', 'dark'] as const
const SETTLED_MS = 1_500

const get = async (path: string) => (await fetch(`${values.url}/api/v1${path}`)).json() as Promise<any>
const firstOf = async (status: string) => (await get(`/tasks?status=${status}&limit=1`)).items[0]?.id
const discovery = (await get('/discoveries')).items[0]?.name
const pages: Record<string, string> = {
  overview: '/',
  tasks: '/tasks',
  'tasks-failed': '/tasks?status=failed',
  'task-failed': `/tasks/${await firstOf('failed')}`,
  'task-waiting': `/tasks/${await firstOf('queued')}`,
  'task-running': `/tasks/${await firstOf('running')}`,
  'task-completed': `/tasks/${await firstOf('completed')}`,
  enqueue: '/enqueue',
  queues: '/queues',
  discoveries: '/discoveries',
  discovery: `/discoveries/${discovery}`,
  quarantined: `/discoveries/${discovery}?state=quarantined`,
  workers: '/workers',
  system: '/system',
}

mkdirSync(values.to, { recursive: true })
const browser = await openBrowser()
for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of THEMES) {
    const page = await browser.newPage({ viewport, colorScheme })
    for (const [name, path] of Object.entries(pages)) {
      if (values.only !== undefined && !name.includes(values.only)) continue
      await page.goto(values.url + path)
      await page.locator('.connection[data-state=live]').waitFor()
      await page.waitForTimeout(SETTLED_MS)
      await page.screenshot({ path: join(values.to, `${name}-${size}-${colorScheme}.png`), fullPage: true })
    }
    await page.close()
  }
}
await browser.close()
console.log(`Screenshots are in ${values.to}`)
