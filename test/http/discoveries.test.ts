import { request as httpRequest } from 'node:http'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { defineDiscovery } from '../../src/index.ts'
import { tempDatabase } from '../temp-database.ts'
import { listen } from './listener.ts'
import { openServer } from './server.ts'

const tag = defineDiscovery({
  name: 'tag-files',
  table: 'files',
  key: 'path',
  where: 'tagged = 0',
  retry: { attempts: 1 },
  run: async (row) => {
    if (/^(bad|\.)/.test(row.path as string)) throw new Error('no such file')
    return 1
  },
  done: (tagged) => ({ tagged }),
})

async function withFiles(...paths: string[]) {
  const path = tempDatabase()
  const db = new Database(path)
  onTestFinished(() => void db.close())
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE files (path TEXT PRIMARY KEY, tagged INTEGER NOT NULL DEFAULT 0)')
  db.exec('CREATE INDEX untagged ON files (path) WHERE tagged = 0')
  for (const one of paths) db.prepare('INSERT INTO files (path) VALUES (?)').run(one)
  const server = await openServer(
    { timings: { lookMs: 1, pollMs: 100 } },
    { database: `sqlite:${path}`, tasks: [], discoveries: [tag] },
  )
  return { ...server, db }
}

const ROWS = '/api/v1/discoveries/tag-files/rows'

test('rows are listed, shown, explained, worked on and counted; keys may be anything', async () => {
  const { gleaner, get, post, call, url } = await withFiles('a', 'b/ü ?#.flac')
  expect(await get('/api/v1/discoveries')).toMatchObject({
    items: [{ name: 'tag-files', table: 'files', waiting: 2, paused: false }],
  })
  expect((await get(ROWS)).items.map(({ key }: { key: string }) => key)).toEqual(['a', 'b/ü ?#.flac'])
  const key = encodeURIComponent('b/ü ?#.flac')
  expect(await get(`${ROWS}/${key}`)).toMatchObject({ state: 'waiting' })
  expect(await get(`${ROWS}/${key}/explain`)).toMatchObject({ runnable: false })
  expect((await post('/api/v1/discoveries/tag-files/pause')).status).toBe(204)
  expect(await get('/api/v1/discoveries/tag-files')).toMatchObject({ paused: true })
  expect((await post('/api/v1/discoveries/tag-files/resume')).status).toBe(204)
  const events = await listen(`${url}/api/v1/events?topics=discoveries`)
  await gleaner.work({ discoveries: ['tag-files'] }).drained()
  await events.until(({ data }) => data.discoveries[0].waiting === 0)
  expect(await get(`${ROWS}/a`)).toMatchObject({ key: 'a', state: 'ineligible', attempts: 0 })
  expect(await call(`${ROWS}/none`)).toMatchObject({ status: 404, body: { error: { code: 'ROW_GONE' } } })
  expect(await call('/api/v1/discoveries/none/rows')).toMatchObject({ status: 404 })
  expect(await get('/metrics')).toContain('gleaner_rows_completed_total{discovery="tag-files"} 2')
})

test('a row that failed is quarantined, and released by an operator, who is on record', async () => {
  const { gleaner, get, post } = await withFiles('bad 1', 'bad 2')
  await gleaner.work({ discoveries: ['tag-files'] }).drained()
  expect((await get(`${ROWS}?state=quarantined`)).items).toMatchObject([
    { key: 'bad 1', error: { message: expect.stringContaining('no such file') } },
    { key: 'bad 2' },
  ])
  expect(await get('/metrics')).toContain('gleaner_rows{discovery="tag-files",state="quarantined"} 2')
  await gleaner.discoveries.pause('tag-files')
  expect(await post(`${ROWS}/bad%201/release`)).toMatchObject({ body: { released: 1 } })
  expect(await post(`${ROWS}/bad%202/retry`)).toMatchObject({ status: 204 })
  expect(await post('/api/v1/discoveries/tag-files/release')).toMatchObject({ body: { released: 0 } })
  const { items } = await get('/api/v1/actions')
  expect(items.map(({ action, target }: any) => [action, target])).toEqual([
    ['discoveries.release-all', 'tag-files'],
    ['discoveries.retry', 'tag-files/bad 2'],
    ['discoveries.release', 'tag-files/bad 1'],
  ])
})

test('a row whose key is two dots is released alone, and no address releases all instead', async () => {
  const { gleaner, get, post, url } = await withFiles('..', '.', 'bad 3')
  const quarantined = async () =>
    (await get(`${ROWS}?state=quarantined`)).items.map(({ key }: { key: string }) => key)
  await gleaner.work({ discoveries: ['tag-files'] }).drained()
  await gleaner.discoveries.pause('tag-files')
  expect(await quarantined()).toEqual(['.', '..', 'bad 3'])
  const { hostname, port } = new URL(url)
  for (const dots of ['..', '.', '%2e%2e', '%2E', '.%2e'])
    expect(await rawPost(hostname, Number(port), `${ROWS}/${dots}/release`)).toBe(400)
  expect(await quarantined()).toEqual(['.', '..', 'bad 3'])
  expect(await post(`${ROWS}/release`, { key: '..' })).toMatchObject({ status: 200, body: { released: 1 } })
  expect(await quarantined()).toEqual(['.', 'bad 3'])
  expect(await post(`${ROWS}/retry`, { key: '.' })).toMatchObject({ status: 204 })
  expect(await quarantined()).toEqual(['bad 3'])
  expect(await post(`${ROWS}/release`, {})).toMatchObject({ status: 400 })
  const { items } = await get('/api/v1/actions')
  expect(items.map(({ action, target }: any) => [action, target])).toEqual([
    ['discoveries.retry', 'tag-files/.'],
    ['discoveries.release', 'tag-files/..'],
  ])
})

/** With an address as it is: `fetch` would resolve it. */
function rawPost(host: string, port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { origin: `http://${host}:${port}` }
    httpRequest({ host, port, path, method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })
}

test('a discovery whose table is gone is shown without numbers, and explains itself', async () => {
  const { db, get } = await withFiles('a')
  db.exec('DROP TABLE files')
  expect(await get('/api/v1/discoveries')).toMatchObject({ items: [{ name: 'tag-files', waiting: null }] })
  expect(await get('/api/v1/discoveries/tag-files')).toMatchObject({ name: 'tag-files', waiting: null })
  const { reasons } = await get(`${ROWS}/a/explain`)
  expect(reasons[0]).toMatchObject({ check: 'declaration-fits-table', ok: false })
})
