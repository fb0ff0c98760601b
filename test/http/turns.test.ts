import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { ROUTES } from '../../src/http/api.ts'
import { createApi } from '../../src/http/index.ts'
import { RequestTurns } from '../../src/http/protocol/turns.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'
import { LOCAL, plain } from './server.ts'

test('a few are answered at a time, in the order they came', async () => {
  const turns = new RequestTurns()
  let running = 0
  let most = 0
  const order: number[] = []
  const work = (n: number) =>
    turns.take(async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running -= 1
      order.push(n)
    })
  await Promise.all(Array.from({ length: 100 }, (_, n) => work(n)))
  expect(most).toBeLessThanOrEqual(8)
  expect(order).toEqual(order.toSorted((a, b) => a - b))
})

test('beyond some hundred that wait, whoever comes is told to come later', async () => {
  const turns = new RequestTurns()
  const end = Promise.withResolvers<void>()
  const waiting = Array.from({ length: 8 + 256 }, () => turns.take(() => end.promise))
  await expect(turns.take(async () => {})).rejects.toMatchObject({ code: 'TOO_BUSY' })
  end.resolve()
  await Promise.all(waiting)
  await turns.take(async () => {})
})

test('a failure gives its turn on', async () => {
  const turns = new RequestTurns()
  for (let n = 0; n < 20; n++)
    await expect(turns.take(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('while many ask for pages, the thread still has time for others', async () => {
  const gleaner = await openTemp({ tasks: [plain] })
  await gleaner.enqueueMany(plain, Array(1_000).fill(undefined))
  let read = 0
  const list: typeof gleaner.tasks.list = (query) => {
    read += 1
    return gleaner.tasks.list(query)
  }
  const api = createApi({ ...gleaner, tasks: { ...gleaner.tasks, list } }, { local: true })
  onTestFinished(() => api.close())
  // What others have to do on this thread is as good as a turn of the event loop: how many pages are read between two.
  const pages: number[] = []
  let isOver = false
  const turn = (before: number) => {
    pages.push(read - before)
    const seen = read
    if (!isOver) setImmediate(() => turn(seen))
  }
  turn(0)
  const asked = Array.from({ length: 150 }, () => api.request('/api/v1/tasks?limit=200', {}, LOCAL))
  for (const answer of await Promise.all(asked)) expect(answer.status).toBe(200)
  isOver = true
  expect(read).toBe(150)
  expect(Math.max(...pages)).toBeLessThanOrEqual(8)
})

test('who only looks waits for nobody who writes: on SQLite everybody else would wait for him', async () => {
  const path = tempDatabase()
  const gleaner = await openTemp({ path, tasks: [plain] })
  const { id } = await gleaner.enqueue(plain)
  const batch = await gleaner.batch('all', [[plain]])
  // What this process has counted is written down before it is shown.
  await gleaner.metrics()
  const api = createApi(gleaner, { local: true })
  const writer = new Database(path)
  onTestFinished(() => {
    api.close()
    writer.close()
  })
  writer.exec('BEGIN IMMEDIATE')
  const looks = ROUTES.filter(({ method, path }) => method === 'get' && !/discoveries.:|^.events/.test(path))
  for (const path of [
    ...looks.map(
      (one) =>
        `/api/v1${one.path.replace(':id', one.path.startsWith('/batches/') ? batch.id : id).replace(':name', 'default')}`,
    ),
    '/metrics',
    '/readyz',
  ])
    expect((await api.request(path, {}, LOCAL)).status, path).toBe(200)
  writer.exec('ROLLBACK')
})
