import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contents } from '../../tools/docs/contents.ts'
import { linksOf } from '../../tools/docs/markdown.ts'
import { buildSite, builtPages, deadBuiltLinks } from '../../tools/docs/site.ts'
import { openBrowser } from '../web/browser.ts'

/** Of the page: these functions run there. */
declare const window: any
declare const document: any

const folder = mkdtempSync(join(tmpdir(), 'gleaner-site-'))
const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }
/** Only what hangs should ever meet it, however busy the machine is. */
const PATIENCE_MS = 900_000
/** Two at once: one is laid out while another is read. */
const TABS = 2

let server: Server
let browser: Browser
let url: string

beforeAll(async () => {
  ;[browser] = await Promise.all([openBrowser(), buildSite(folder)])
  server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url!, 'http://site').pathname)
    const file = [path, `${path}.html`, join(path, 'index.html')]
      .map((one) => join(folder, one))
      .find((one) => existsSync(one) && statSync(one).isFile())
    if (file === undefined) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' })
    return createReadStream(file).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
}, PATIENCE_MS)

afterAll(async () => {
  await browser?.close()
  server?.close()
  rmSync(folder, { recursive: true, force: true })
})

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
}

/** A page of the browser whose errors are collected. */
async function newPage(context: BrowserContext): Promise<{ page: Page; problems: string[] }> {
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('requestfailed', (request) => problems.push(`${request.url()} failed`))
  return { page, problems }
}

test('the built site has no link that leads nowhere, to no page, file or title', () => {
  const pages = builtPages(folder)
  expect(pages.length).toBeGreaterThan(60)
  expect(deadBuiltLinks(folder)).toEqual([])
})

test('each page belongs to one part of the menu, and leads to the next page', () => {
  const pages = contents().flatMap(({ entries }) => entries.map(({ page }) => page.replace(/\.md$/, '.html')))
  const found = pages.map((page, at) => {
    const html = readFileSync(join(folder, page), 'utf8')
    const next = /pager-link next" href="\/([^"]*)"/.exec(html)?.[1]
    return {
      page,
      parts: html.match(/VPNavBarMenuLink active"/g)?.length,
      leadsOn: next?.replace(/\/$/, '/index.html') === pages[at + 1],
    }
  })
  const last = found.pop()!
  expect(found.filter(({ parts, leadsOn }) => parts !== 1 || !leadsOn)).toEqual([])
  expect(last.parts).toBe(1)
})

test('the site has an index and the text of its pages for programs, whose links lead to its pages', () => {
  const [index, full] = ['llms.txt', 'llms-full.txt'].map((name) => readFileSync(join(folder, name), 'utf8'))
  const listed = linksOf(index!).map(({ target }) => target)
  expect(listed.length).toBeGreaterThan(30)
  expect(listed.filter((target) => !existsSync(join(folder, target)))).toEqual([])
  expect(full!.match(/^<page path="/gm)).toHaveLength(listed.length)
})

test('a dead link or a dead title in a built page is found', () => {
  const planted = join(folder, 'planted')
  mkdirSync(planted)
  writeFileSync(
    join(planted, 'a.html'),
    '<a href="b#here">x</a><a href="b#gone">y</a><a href="/c.html">z</a>',
  )
  writeFileSync(join(planted, 'b.html'), '<h1 id="here">b</h1>')
  expect(deadBuiltLinks(planted)).toEqual([
    'a.html: b#gone names no title of b.html',
    'a.html: /c.html leads to no file',
  ])
  rmSync(planted, { recursive: true })
})

test(
  'every page opens without errors, is accessible, and fits a desktop and a phone',
  async () => {
    const left = builtPages(folder).filter((page) => page !== '404.html')
    const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce' })
    const wrong: string[] = []
    const work = async () => {
      const { page, problems } = await newPage(context)
      for (let path = left.pop(); path !== undefined; path = left.pop()) {
        const found = [...(await problemsOf(page, path)), ...problems.splice(0)]
        wrong.push(...found.map((problem) => `${path}: ${problem}`))
      }
    }
    await Promise.all(Array.from({ length: TABS }, work))
    expect(wrong).toEqual([])
    await context.close()
  },
  PATIENCE_MS,
)

/** The page's script names the switch of the theme when it has begun. */
async function opened(page: Page, path: string): Promise<void> {
  await page.goto(`${url}/${path}`)
  await page.locator('.VPSwitchAppearance:not([title=""])').first().waitFor({ state: 'attached' })
}

async function problemsOf(page: Page, path: string): Promise<string[]> {
  await page.setViewportSize(DESKTOP)
  await opened(page, path)
  const wide = await overflow(page)
  // Colours are the same on all pages: the next test looks at them.
  const barriers = await violations(page, { 'color-contrast': { enabled: false } })
  await page.setViewportSize(PHONE)
  return [...wide, ...barriers, ...(await overflow(page))]
}

test.each(['light', 'dark'] as const)('text is readable in the %s theme', async (colorScheme) => {
  const context = await browser.newContext({ viewport: PHONE, colorScheme, reducedMotion: 'reduce' })
  const { page } = await newPage(context)
  for (const path of ['', 'guide/tasks', 'reference/config', 'start/what-is-gleaner']) {
    await opened(page, path)
    expect({ path, found: await violations(page) }).toEqual({ path, found: [] })
  }
  await context.close()
})

test('the search finds a page by what stands in it', async () => {
  const context = await browser.newContext({ viewport: DESKTOP })
  const { page } = await newPage(context)
  await page.goto(url)
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('STORE_FULL')
  await page.locator('.results a[href*="guide/errors"]').first().click()
  await page.waitForURL(/guide\/errors/)
  await page.getByRole('heading', { level: 1, name: 'Errors' }).waitFor()
  await context.close()
})

async function violations(page: Page, rules: Record<string, { enabled: boolean }> = {}): Promise<string[]> {
  await page.evaluate(`if (!window.axe) { ${axe.source} }`)
  return page.evaluate(async (rules) => {
    const { violations } = await window.axe.run(document, {
      resultTypes: ['violations'],
      preload: false,
      rules,
    })
    return violations.flatMap(({ id, nodes }: any) =>
      nodes
        .slice(0, 3)
        .map(({ html, failureSummary }: any) => `${id}: ${html.slice(0, 150)} ${failureSummary}`),
    )
  }, rules)
}

/** Whatever sticks out to the side. */
function overflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    return [...document.querySelectorAll('body *')]
      .filter((one: any) => one.getBoundingClientRect().right > clientWidth + 1)
      .map((one: any) => `${one.tagName}.${one.className} sticks out at ${clientWidth} px`)
      .slice(0, 3)
  })
}
