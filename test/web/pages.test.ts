import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { until } from '../until.ts'
import { complaintsOf, HOSTILE, openHouse } from './house.ts'

/** Of the page: these functions run there. */
declare const window: any
declare const document: any

const house = openHouse()

let failed: string
let running: string
let unserved: string

beforeAll(async () => {
  const enqueue = async (name: string, input: unknown, options = {}): Promise<string> =>
    (await house.post('/tasks', { name, input, options })).id
  house.sql('INSERT INTO files (path, broken) VALUES (?, 1)', HOSTILE)
  house.sql("INSERT INTO files (path) VALUES ('a.flac')")
  const inADay = Date.now() + 24 * 60 * 60_000
  house.sql("INSERT INTO gleaner_components VALUES (?, 'healthy', ?, ?, ?, 1)", 'cache', 1, HOSTILE, inADay)
  failed = await enqueue('mail.send', { to: `bad ${HOSTILE}`, kind: 'welcome' }, { key: HOSTILE })
  running = await enqueue('film.export', { title: HOSTILE })
  unserved = await enqueue('ml.embed', { path: HOSTILE, nested: { [HOSTILE]: [HOSTILE] } })
  await enqueue('mail.send', { to: 'later', kind: 'invoice' }, { runAfter: '1h' })
  const is = async (id: string, status: string) => (await house.get(`/tasks/${id}`)).status === status
  await until('it failed', () => is(failed, 'failed'))
  await until('it runs', () => is(running, 'running'))
  const quarantined = async () => (await house.get('/discoveries/tag-files')).quarantined === 1
  await until('the row is quarantined', quarantined)
}, 180_000)

/** Every page, and what shows that it has all it needs. */
const PAGES: { name: string; path: () => string; shows: string | RegExp }[] = [
  { name: 'overview', path: () => '/', shows: 'Duration of attempts' },
  { name: 'overview of a week', path: () => '/?range=week', shows: 'Last week' },
  { name: 'tasks', path: () => '/tasks', shows: 'frame 25' },
  { name: 'tasks that failed', path: () => '/tasks?status=failed', shows: /no such address/ },
  { name: 'a task that failed', path: () => `/tasks/${failed}`, shows: /Attempt 1/ },
  { name: 'a task that runs', path: () => `/tasks/${running}`, shows: 'frame 25' },
  {
    name: 'a task that nobody serves',
    path: () => `/tasks/${unserved}`,
    shows: /no live worker serves queue gpu/i,
  },
  { name: 'enqueue', path: () => '/enqueue?task=mail.send', shows: 'Enqueue mail.send' },
  { name: 'queues', path: () => '/queues', shows: 'Trigger now' },
  { name: 'discoveries', path: () => '/discoveries', shows: 'tag-files' },
  {
    name: 'rows of a discovery',
    path: () => '/discoveries/tag-files?state=quarantined',
    shows: /no decoder/,
  },
  { name: 'workers', path: () => '/workers', shows: 'main:0' },
  { name: 'workers and components', path: () => '/workers?span=30m', shows: 'Your components' },
  { name: 'system', path: () => '/system', shows: 'Late writes refused' },
  { name: 'no such page', path: () => '/nothing/here', shows: 'There is no such page' },
]

describe.each(PAGES)('the page $name', ({ path, shows }) => {
  test('has no errors, is accessible in both themes, fits a phone, and runs nothing that is data', async () => {
    const page = await house.visit(path())
    await page.getByText(shows).first().waitFor()
    await page.locator('.connection[data-state=live]').waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await violations(page), colorScheme).toEqual([])
    }
    // What stands between backticks is shown as code.
    const advice = await page.locator('.fix, .alerts p, [role=alert] p').allInnerTexts()
    expect(advice.filter((text) => text.includes('`'))).toEqual([])
    await page.setViewportSize({ width: 375, height: 740 })
    expect(await overflow(page)).toEqual([])
    expect(await page.evaluate(() => '__hacked' in window)).toBe(false)
    expect(complaintsOf(page)).toEqual([])
  })
})

async function violations(page: Page): Promise<unknown[]> {
  // As a debugger would, past the policy that keeps foreign scripts out.
  await page.evaluate(`if (!window.axe) { ${axe.source} }`)
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] })
    return violations.map(({ id, nodes }: any) => [
      id,
      nodes.map(({ html, failureSummary }: any) => `${html.slice(0, 200)} ${failureSummary}`),
    ])
  })
}

/** Whatever sticks out to the side. */
function overflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    return [...document.querySelectorAll('body *')]
      .filter((one: any) => one.getBoundingClientRect().right > clientWidth + 1)
      .map((one: any) => `${one.tagName}.${one.className}`)
      .slice(0, 10)
  })
}
