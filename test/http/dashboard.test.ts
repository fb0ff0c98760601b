import { execFileSync } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express from 'express'
import { Hono } from 'hono'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createApi, nodeHandler } from '../../src/http/index.ts'
import { openTemp } from '../temp-database.ts'
import { askAs, OPERATOR, openServer } from './server.ts'

beforeAll(
  () =>
    void execFileSync(process.execPath, [
      join(import.meta.dirname, '../../tools/web/build.ts'),
      '--if-needed',
    ]),
)

const HTML = { accept: 'text/html' }

/** The files that a page names, as a browser at this address would ask for them. */
function filesOf(page: string, at: string): string[] {
  return [...page.matchAll(/"([./]+assets\/[^"]+)"/g)].map(([, path]) => new URL(path!, at).href)
}

test('every page is the dashboard, whose files are there for ever; what is no page is not', async () => {
  const { url, call } = await openServer()
  for (const path of ['/', '/tasks', '/tasks/17', '/discoveries/a/b/c', '/tasks?status=failed']) {
    const { status, body, headers } = await call(path, { headers: HTML })
    expect(status, path).toBe(200)
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
    const files = filesOf(body, url + path)
    expect(files.length, path).toBeGreaterThanOrEqual(3)
    for (const file of files) {
      const answer = await fetch(file)
      expect([file, answer.status]).toEqual([file, 200])
      expect(answer.headers.get('cache-control')).toContain('immutable')
      expect(answer.headers.get('content-encoding')).toMatch(/^(br|gzip)$/)
      await answer.arrayBuffer()
    }
  }
  for (const path of ['/assets/none.js', '/api/v1/none', '/../package.json', '/assets/../../package.json'])
    expect((await call(path, { headers: path.includes('package') ? {} : HTML })).status, path).toBe(404)
  expect((await call('/tasks')).status).toBe(404)
  expect((await call('/', { method: 'POST' })).status).toBe(404)
  expect(await askAs(url, '/', { host: 'evil.example', ...HTML })).toBe(403)
})

test('the page is no secret, what it shows is', async () => {
  const { url } = await openServer({ tokens: { operator: OPERATOR } })
  expect((await fetch(url, { headers: HTML })).status).toBe(200)
  expect((await fetch(`${url}/api/v1/info`)).status).toBe(401)
})

test('without a dashboard there is the API alone', async () => {
  const { call } = await openServer({ dashboard: false })
  expect((await call('/', { headers: HTML })).status).toBe(404)
})

test('mounted somewhere, its files are found there', async () => {
  const gleaner = await openTemp({})
  const api = createApi(gleaner, { authorize: () => 'operator' })
  const app = new Hono().route('/ops', api)
  for (const path of ['/ops/', '/ops/tasks/1']) {
    const page = await app.request(path, { headers: HTML })
    const [file] = filesOf(await page.text(), `http://host${path}`)
    expect(file).toMatch(/^http:\/\/host\/ops\/assets\//)
    expect((await app.request(file!)).status).toBe(200)
  }
  const server = express().use('/ops', nodeHandler(api)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/tasks/1`
  const [file] = filesOf(await (await fetch(at, { headers: HTML })).text(), at)
  expect((await fetch(file!)).status).toBe(200)
})
