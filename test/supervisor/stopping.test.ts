import { expect } from 'vitest'
import { gone, pool, test } from './estate.ts'
import { blocking, quitter, untilThere } from './tasks.ts'

test('a stop lets the current item finish, and takes nothing more', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const { pid } = await estate.hears('running')
  const waiting = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const stopped = supervisor.stop()
  await estate.worker(supervisor, { phase: 'stopping' })
  estate.touch('go')
  await stopped
  expect(await handle.result()).toBe(pid)
  await gone(pid)
  expect(await gleaner.tasks.get(waiting.id)).toMatchObject({ status: 'queued', attempts: 0 })
  expect(supervisor.workers()).toMatchObject([
    { status: 'stopped', pid: null, lastExit: { code: 0, reason: 'stopped' } },
  ])
})

test('what is unfinished when the drain is over goes back, and costs no attempt', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  await estate.hears('running')
  await supervisor.stop({ drain: '100ms' })
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'queued', attempts: 0, crashes: 0 })
})

test('a worker that ignores every request is killed, with all its children, and is not called a crash', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  // Its event loop does not turn: it hears neither its supervisor nor a signal.
  const handle = await gleaner.enqueue(blocking, { ms: 600_000 })
  const { pid } = await estate.hears('running')
  await supervisor.stop({ drain: '200ms' })
  await gone(pid)
  expect(supervisor.workers()).toMatchObject([
    { status: 'stopped', lastExit: { signal: 'SIGKILL', reason: 'stopped' } },
  ])
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'queued', attempts: 0, crashes: 0 })
})

test('a second stop hurries the first', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise()
  await gleaner.enqueue(untilThere, { file: estate.file('never') })
  await estate.hears('running')
  const patient = supervisor.stop({ drain: '1h' })
  await estate.worker(supervisor, { phase: 'stopping' })
  await supervisor.stop({ drain: 0 })
  await patient
})

test('a worker that is stopped by a signal is woken up to leave', async ({ estate }) => {
  const supervisor = await estate.supervise({ timings: { hung: '1h', stale: '1h' } })
  const { pid } = await estate.worker(supervisor, { status: 'running' })
  process.kill(pid!, 'SIGSTOP')
  await supervisor.stop({ drain: '300ms' })
  expect(supervisor.workers()).toMatchObject([{ lastExit: { code: 0, signal: null } }])
})

test('a worker of which nothing is heard is unhealthy, then killed and replaced; what it held runs again', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ pools: [pool({ processes: 2 })] })
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const { pid, worker } = await estate.hears('running')
  // Its first frame may come after its first task.
  await estate.worker(supervisor, { health: 'healthy', pid }, worker)
  process.kill(pid, 'SIGSTOP')
  await estate.worker(supervisor, { health: 'unhealthy', pid }, worker)
  const ended = await estate.logged('worker ended', (logged) => logged.pid === pid)
  expect(ended.message).toContain('it no longer reported its health')
  await estate.hears('running', (said) => said.pid !== pid)
  estate.touch('go')
  await handle.result()
  await estate.worker(supervisor, (record) => record.health === 'healthy' && record.pid !== pid, worker)
})

test('a worker that drains for long stays healthy, and its items have all the time that was given', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  // A frame is due twice before a worker counts as silent.
  const supervisor = await estate.supervise({ timings: { frame: '800ms', stale: '1500ms' } })
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('never') })
  await estate.hears('running')
  await estate.worker(supervisor, { phase: 'processing', health: 'healthy' })
  const toldAt = Date.now()
  const stopped = supervisor.stop({ drain: '3s' })
  const [healths, frames] = [new Set<string>(), new Set<number | null>()]
  await estate.worker(supervisor, ({ status, health, lastFrameAt }) => {
    if (status === 'stopping') healths.add(health)
    frames.add(lastFrameAt)
    return frames.size > 3
  })
  expect([...healths]).toEqual(['healthy'])
  await stopped
  expect((await estate.hears('aborted')).at - toldAt).toBeGreaterThanOrEqual(2_900)
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'queued', attempts: 0, crashes: 0 })
})

test('a worker that somebody else stops with SIGTERM leaves cleanly: no crash counts, and what it held goes back', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = await estate.supervise({ timings: { backoff: '50ms' } })
  const idle = await estate.worker(supervisor, { status: 'running', phase: 'idle' })
  process.kill(idle.pid!, 'SIGTERM')
  const second = await estate.worker(
    supervisor,
    ({ pid, status }) => pid !== idle.pid && status === 'running',
  )
  expect(second.restarts).toEqual({ recent: 0, total: 0 })
  expect(second.lastExit).toMatchObject({
    code: 0,
    reason: expect.stringContaining('it received a signal to stop'),
  })
  await estate.logged('stopping: received SIGTERM')
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  await estate.hears('running')
  process.kill(second.pid!, 'SIGTERM')
  await estate.hears('running', ({ pid }) => pid !== second.pid)
  estate.touch('go')
  await handle.result()
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 1, crashes: 0 })
  expect(supervisor.workers()).toMatchObject([{ restarts: { recent: 0, total: 0 } }])
})

test('a handler that ends its process with exit code 0 has crashed it', async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const handle = await gleaner.enqueue(quitter)
  await estate.supervise()
  await expect(handle.result()).rejects.toMatchObject({ code: 'TASK_FAILED' })
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ crashes: 3, error: { kind: 'crash' } })
})
