import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { Child, Said } from '../journeys/child.ts'
import { until } from '../until.ts'
import { gone, pool, TORTURE, test } from './estate.ts'
import { untilThere } from './tasks.ts'

const STOPPED_MS = TORTURE ? 60_000 : 5_000
/** Two seconds are promised; beside other test files everything takes its time. */
const GONE_WITHIN_MS = TORTURE ? 2_000 : 15_000

const ready = (child: Child, id = 'worker:main:0'): Promise<Said> =>
  child.hears('worker', (said) => said.id === id && said.status === 'running')

/** What a worker of this supervisor said on its standard output. */
async function running(child: Child): Promise<Said> {
  const { message } = await child.hears('log', ({ message }) => message.includes('"running"'))
  return JSON.parse(message)
}

test('idle workers of a supervisor that was killed are gone within two seconds', async ({ estate }) => {
  const supervisor = estate.supervisor({ pools: [pool({ processes: 2 })] })
  const workers = [await ready(supervisor), await ready(supervisor, 'worker:main:1')]
  const killedMs = performance.now()
  await supervisor.kill()
  await Promise.all(workers.map(({ pid }) => gone(pid)))
  expect(performance.now() - killedMs).toBeLessThan(GONE_WITHIN_MS)
})

test('a worker of a supervisor that was killed finishes its item, takes nothing more, and leaves; the next start waits for it', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const first = estate.supervisor()
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const { pid } = await running(first)
  await first.kill()
  const waiting = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  // The next one takes over at once, and waits for the slot whose orphan still works.
  const second = estate.supervisor()
  await second.hears(
    'log',
    ({ message }) => message === 'waiting for a worker of an earlier supervisor to finish',
  )
  expect(await gleaner.tasks.get(waiting.id)).toMatchObject({ status: 'queued' })
  estate.touch('go')
  expect(await handle.result()).toBe(pid)
  await gone(pid)
  expect(await waiting.result()).not.toBe(pid)
  for (const { id } of [handle, waiting])
    expect(await gleaner.tasks.get(id)).toMatchObject({ attempts: 1, crashes: 0 })
})

test('what a supervisor left behind that was killed together with its workers, the next start repairs', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const first = estate.supervisor()
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  const { pid } = await running(first)
  await first.kill()
  process.kill(pid, 'SIGKILL')
  await gone(pid)
  estate.touch('go')
  estate.supervisor()
  await handle.result()
  expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 2, crashes: 1 })
})

test('a second supervisor of the same name is refused, and told who runs where since when', async ({
  estate,
}) => {
  const first = estate.supervisor()
  await first.hears('supervising')
  const second = estate.supervisor()
  const { code, message } = await second.hears('refused')
  expect(code).toBe('SUPERVISOR_RUNS')
  expect(message).toContain(`process ${first.pid} on `)
  expect(message).toMatch(/since \d{4}-\d\d-\d\dT/)
  await second.ended
  expect(first.alive).toBe(true)
})

test('a supervisor that was stopped for a time blames nobody for what it did not hear', async ({
  estate,
}) => {
  const gleaner = await estate.gleaner()
  const supervisor = estate.supervisor({ timings: { frame: '100ms', stale: '1s', hung: '2s' } })
  const { pid } = await ready(supervisor)
  const handle = await gleaner.enqueue(untilThere, { file: estate.file('go') })
  await running(supervisor)
  supervisor.signal('SIGSTOP')
  // Much longer than what makes a worker hung.
  await until('it was stopped for long', stoppedFor(STOPPED_MS), STOPPED_MS + 30_000)
  supervisor.signal('SIGCONT')
  estate.touch('go')
  expect(await handle.result()).toBe(pid)
  // Looked at since, and found well: it goes on.
  expect(await (await gleaner.enqueue(untilThere, { file: estate.file('go') })).result()).toBe(pid)
  expect(supervisor.said.filter(({ message }) => message === 'worker is killed')).toEqual([])
  expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).not.toContain(') Z ')
})

function stoppedFor(ms: number): () => boolean {
  const untilMs = performance.now() + ms
  return () => performance.now() >= untilMs
}
