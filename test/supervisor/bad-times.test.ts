import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { until } from '../until.ts'
import { gone, pool, TORTURE, test } from './estate.ts'
import { EFFECTS, late, marked, quick, silent, untilThere } from './tasks.ts'

const SUPERVISOR_KILLS = TORTURE ? 50 : 2
const LOCKED_MS = TORTURE ? 60_000 : 1_500

test('while the database is locked nobody is called dead, deaths are seen, and nothing is lost', {
  timeout: 300_000,
}, async ({ estate }) => {
  const gleaner = await estate.gleaner()
  // As long as a real one: who starts meanwhile waits for the lock.
  const timings = { startup: '5m' } as const
  const supervisor = await estate.supervise({ pools: [pool({ processes: 2 })], timings })
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const { pid, worker } = await estate.hears('running')
  const { id: idle } = supervisor.workers().find(({ id }) => id !== worker)!
  const other = await estate.worker(supervisor, { status: 'running' }, idle)

  const lock = estate.place.connect()
  lock.pragma('busy_timeout = 5000')
  lock.exec('BEGIN IMMEDIATE')
  const lockedMs = performance.now()
  process.kill(pid, 'SIGKILL')
  await estate.logged('worker ended', (logged) => logged.pid === pid)
  // A new one takes its place, although nothing can be written.
  await estate.worker(supervisor, (record) => record.pid !== pid && record.pid !== null, worker)
  await until('it was locked for long', () => performance.now() - lockedMs > LOCKED_MS, LOCKED_MS + 30_000)
  // After a minute an exchange fails, and it says that it backs off.
  if (!TORTURE) expect(supervisor.getStatus(other.id)).toBe('healthy')
  expect(supervisor.workers().find(({ id }) => id === other.id)).toMatchObject({
    status: 'running',
    pid: other.pid,
  })
  lock.exec('COMMIT')

  const again = await estate.hears('running', (said) => said.pid !== pid)
  estate.touch('go')
  expect(await handle.result()).toBe(again.pid)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 2, crashes: 1 })
  // The item explains that crash: also if no frame had told of it, and it was counted until the database answered.
  await estate.worker(supervisor, ({ restarts }) => restarts.total === 0, worker)
  await estate.worker(supervisor, ({ restarts }) => restarts.total === 0, other.id)
})

test('the limits of restarts hold while the database is locked', async ({ estate }) => {
  await estate.gleaner()
  const lock = estate.place.connect()
  const supervisor = await estate.supervise({ limits: { inWindow: 3 }, env: { GLEANER_CRASH: 'start main' } })
  lock.pragma('busy_timeout = 5000')
  lock.exec('BEGIN IMMEDIATE')
  const failed = await estate.worker(supervisor, { status: 'failed' })
  expect(failed.restarts).toEqual({ recent: 3, total: 3 })
  lock.exec('COMMIT')
})

test('a worker that cannot become ready because the database is locked is no crash', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const lock = estate.place.connect()
  const supervisor = await estate.supervise({ timings: { startup: '8s' } })
  lock.pragma('busy_timeout = 5000')
  lock.exec('BEGIN IMMEDIATE')
  const ended = await estate.logged('worker ended', ({ code }) => code === 11)
  expect(ended.message).toContain('it could not reach the database')
  lock.exec('COMMIT')
  expect(await (await gleaner.enqueue(quick, 1)).result()).toBe(1)
  const { restarts } = await estate.worker(supervisor, { status: 'running' })
  expect(restarts.total).toBe(0)
})

test('a worker that was stopped for longer than its lease writes nothing when it goes on: the effect is there once', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  estate.place.connect().exec(EFFECTS)
  await estate.supervise({ pools: [pool({ processes: 2 })], timings: { stale: '1h', hung: '1h' } })
  const handle = await gleaner.enqueue(late, { file: estate.file('go') })
  const first = await estate.hears('running')
  process.kill(first.pid, 'SIGSTOP')
  // The lease of three seconds runs out, and another one takes over.
  const second = await estate.hears('running', ({ pid }) => pid !== first.pid)
  estate.touch('go')
  expect(await handle.result()).toBe(second.pid)
  process.kill(first.pid, 'SIGCONT')
  const { code } = await estate.hears('refused', ({ pid }) => pid === first.pid)
  expect(code).toBe('CLAIM_LOST')
  const effects = estate.place.connect().prepare('SELECT pid FROM effects').all()
  expect(effects).toEqual([{ pid: second.pid }])
})

test('supervisors that are killed in the middle of work: workers finish and leave, the next start goes on, nothing runs twice', {
  timeout: 600_000,
}, async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const file = estate.touch('marks')
  const handles = await gleaner.enqueueMany(marked, Array(SUPERVISOR_KILLS * 40).fill({ file, ms: 40 }))
  const workers = new Set<number>()
  for (let n = 0; n < SUPERVISOR_KILLS; n++) {
    const supervisor = estate.supervisor({ pools: [pool({ processes: 2, concurrency: 2 })] })
    await supervisor.hears('worker', ({ phase }) => phase === 'processing')
    await supervisor.kill()
    for (const { pid } of supervisor.all('worker')) if (pid !== null) workers.add(pid)
  }
  await Promise.all([...workers].map(gone))
  const last = estate.supervisor({ pools: [pool({ processes: 2, concurrency: 10 })] })
  await Promise.all(handles.map((handle) => handle.result()))
  const marks = readFileSync(file, 'utf8').trim().split('\n')
  expect(marks.sort()).toEqual(handles.map(({ id }) => id).sort())
  last.tell('stop')
  await last.hears('stopped')
})

test('a supervisor that does not read holds up no worker', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = estate.supervisor({ timings: { frame: '1ms', stale: '1h', hung: '1h' } })
  await supervisor.hears('worker', ({ status }) => status === 'running')
  supervisor.signal('SIGSTOP')
  // Thousands of frames later, which fill every buffer, it works as before.
  const untilMs = performance.now() + 2_000
  while (performance.now() < untilMs) await (await gleaner.enqueue(silent, 1)).result()
  supervisor.signal('SIGCONT')
  supervisor.tell('stop')
  await supervisor.hears('stopped')
})
