import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { test } from './place.ts'
import { blocking, EFFECTS, patient, stubborn, tasks } from './tasks.ts'

/** The processes that this thread has started. */
const childrenOf = (pid: number, thread: string) =>
  readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean)

const LEASE_MS = 1_000
const timings = { sweep: '50ms', lease: LEASE_MS } as const

test('a worker that was stopped for longer than its lease changes nothing when it wakes up', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const handle = await gleaner.enqueue(stubborn)
  const first = place.start('worker.ts', { timings })
  const { fence } = await first.hears('running')
  first.signal('SIGSTOP')
  const second = place.start('worker.ts', { timings })
  const again = await second.hears('running')
  expect(again.fence).toBeGreaterThan(fence)
  first.signal('SIGCONT')
  // Its keeper tells it, though nothing of its own asked.
  expect(await first.hears('aborted')).toMatchObject({ reason: 'ClaimLostError', code: 'CLAIM_LOST' })
  first.tell('release')
  expect(await first.hears('refused')).toMatchObject({ code: 'CLAIM_LOST' })
  second.tell('release')
  await second.hears('wrote')
  expect(await handle.result()).toBe(second.pid)
  expect(place.connect().prepare('SELECT task, pid FROM effects').all()).toEqual([
    { task: Number(handle.id), pid: second.pid },
  ])
  // Fate unknown: the attempt counts, but nobody crashed.
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ crashes: 0, attempts: 2 })
  expect((await gleaner.tasks.attempts(handle.id))[0]).toMatchObject({ outcome: 'lease' })
})

test('a completion that comes too late is refused, also before the keeper has noticed', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const handle = await gleaner.enqueue(stubborn)
  // It renews once an hour, so that the write itself is the first to find out.
  const first = place.start('worker.ts', { timings: { ...timings, lease: '3h' } })
  await first.hears('running')
  const second = place.start('worker.ts', { timings })
  await second.hears('running')
  first.tell('release')
  expect(await first.hears('refused')).toMatchObject({ code: 'CLAIM_LOST' })
  expect(place.connect().prepare('SELECT count(*) FROM effects').pluck().get()).toBe(0)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'running', attempts: 2 })
})

test('a worker that lost its session goes on with a new one', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const lost = await gleaner.enqueue(stubborn)
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  first.signal('SIGSTOP')
  const second = place.start('worker.ts', { timings })
  await second.hears('running')
  first.signal('SIGCONT')
  await first.hears('claim-lost')
  first.tell('release')
  await first.hears('refused')
  // The second is busy: only the first can take it.
  const next = await gleaner.enqueue(patient)
  await first.hears('running', ({ id }) => id === next.id)
  first.tell('release')
  expect(await next.result()).toBe(first.pid)
  second.tell('release')
  await lost.result()
})

test('a handler that blocks the event loop for longer than the lease keeps its claim', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(blocking, { ms: LEASE_MS * 4 })
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  const second = place.start('worker.ts', { timings })
  await second.hears('ready')
  expect(await handle.result()).toBe(first.pid)
  expect(second.all('running')).toEqual([])
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 1 })
})

test('the keeper is a thread: it ends with its process', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  await gleaner.enqueue(patient)
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  const children = readdirSync(`/proc/${first.pid}/task`).flatMap((thread) => childrenOf(first.pid, thread))
  expect(children).toEqual([])
  await first.kill()
  const db = place.connect()
  const renewals = () => db.prepare('SELECT renewals FROM gleaner_sessions ORDER BY id LIMIT 1').pluck().get()
  const before = renewals()
  // Another worker's life, from start to its first claim, lasts longer than a renewal would take to come.
  const second = place.start('worker.ts', { timings: { ...timings, sweep: '1h' } })
  await second.hears('running')
  expect(renewals()).toBe(before)
})

test('a keeper that breaks is replaced, and the claim is kept', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(patient)
  const flag = join(place.folder, 'broken')
  const first = place.start(
    'worker.ts',
    { timings },
    { ...place.preload('failing-keeper.ts'), GLEANER_FLAG: flag },
  )
  await first.hears('running')
  await expect.poll(() => existsSync(flag), { timeout: 20_000 }).toBe(true)
  const second = place.start('worker.ts', { timings })
  await second.hears('ready')
  const db = place.connect()
  const renewals = () =>
    db.prepare('SELECT renewals FROM gleaner_sessions ORDER BY id LIMIT 1').pluck().get() as number
  // More than a lease's worth of them after it broke.
  const enough = renewals() + 5
  await expect.poll(renewals, { timeout: 20_000 }).toBeGreaterThan(enough)
  first.tell('release')
  expect(await handle.result()).toBe(first.pid)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 1 })
})

test('a machine that sleeps expires nobody', async ({ place }) => {
  const gleaner = await place.open({ tasks })
  const handle = await gleaner.enqueue(patient)
  const first = place.start('worker.ts', { timings })
  await first.hears('running')
  const second = place.start('worker.ts', { timings })
  await second.hears('ready')
  // So that it has seen the first one before they both fall asleep.
  await (await gleaner.enqueue(blocking, { ms: 1 })).result()
  const children = [second, first]
  for (const child of children) child.signal('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS * 2))
  // The sweeper is the first to wake up.
  for (const child of children) child.signal('SIGCONT')
  const swept = await gleaner.enqueue(blocking, { ms: LEASE_MS / 2 })
  await swept.result()
  first.tell('release')
  expect(await handle.result()).toBe(first.pid)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 1 })
})
