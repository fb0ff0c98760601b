import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { expect } from 'vitest'
import { until } from '../until.ts'
import { pool, TORTURE, test } from './estate.ts'
import { quick } from './tasks.ts'

const COLD_MS = TORTURE ? 120_000 : 2_500
/** Soon after the start much is still compiled and collected: the short form bounds what the long one measures. */
const [SETTLE_MS, IDLE_MS, IDLE_PART] = TORTURE ? [20_000, 60_000, 0.01] : [2_000, 3_000, 0.1]
const KILLS = TORTURE ? 300 : 6

test('a worker that takes its time to start is pending all along, then healthy', {
  timeout: 180_000,
}, async ({ estate }) => {
  const supervisor = await estate.supervise({
    env: { GLEANER_COLD_MS: String(COLD_MS) },
    timings: { startup: '3m' },
  })
  const healths: string[] = []
  const startedMs = performance.now()
  await estate.worker(supervisor, ({ health }) => {
    if (healths.at(-1) !== health) healths.push(health)
    return health === 'healthy'
  })
  expect(healths).toEqual(['pending', 'healthy'])
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(COLD_MS)
})

test('a worker that does not become ready in time is killed, and that counts', async ({ estate }) => {
  const supervisor = await estate.supervise({
    env: { GLEANER_COLD_MS: '600000' },
    timings: { startup: '1500ms' },
    limits: { inWindow: 2 },
  })
  const failed = await estate.worker(supervisor, { status: 'failed' })
  expect(failed).toMatchObject({ restarts: { total: 2 }, lastExit: { signal: 'SIGKILL' } })
  expect(failed.lastExit!.reason).toContain('did not become ready in time')
})

test('a supervisor and its idle workers cost next to nothing', { timeout: 180_000 }, async ({ estate }) => {
  const supervisor = estate.supervisor({
    pools: [pool({ processes: 4 })],
    timings: { frame: '5s', stale: '10s', hung: '30s', registry: '5s', commands: '1s' },
    env: { GLEANER_REAL_TIMINGS: '1' },
  })
  const workers = [0, 1, 2, 3].map((n) => `worker:main:${n}`)
  const ready = await Promise.all(
    workers.map((id) => supervisor.hears('worker', (said) => said.id === id && said.status === 'running')),
  )
  const pids = [supervisor.pid, ...ready.map(({ pid }) => pid as number)]
  // What is compiled late, and the first looks, are no part of it.
  await until('they have settled', passed(SETTLE_MS))
  const before = pids.map(cpuMs)
  await until('they were idle for a while', passed(IDLE_MS), IDLE_MS + 10_000)
  const usedMs = pids.map(cpuMs).reduce((sum, ms, n) => sum + ms - before[n]!, 0)
  console.log(
    `idle cost of a supervisor with 4 workers: ${((usedMs / IDLE_MS) * 100).toFixed(2)} % of a core`,
  )
  expect(usedMs / IDLE_MS).toBeLessThanOrEqual(IDLE_PART)
})

test('workers that are killed again and again leave nothing behind: memory, descriptors and processes stay as they are', {
  timeout: 900_000,
}, async ({ estate }) => {
  const gleaner = await estate.gleaner()
  const supervisor = estate.supervisor({
    pools: [pool({ processes: 2, concurrency: 5 })],
    limits: { inWindow: 1_000, total: 1_000 },
  })
  const seen = new Set<number>()
  const pidOf = async (id: string, not: ReadonlySet<number>): Promise<number> =>
    (
      await supervisor.hears(
        'worker',
        (said) => said.id === id && said.status === 'running' && !not.has(said.pid),
      )
    ).pid
  // The wake file is opened when the supervisor first gives something back, which may be after any of the kills.
  const descriptors = () => descriptorsOf(supervisor.pid).filter((target) => !target.endsWith('-wake'))
  const handles = []
  const pids = [await pidOf('worker:main:0', seen), await pidOf('worker:main:1', seen)]
  for (const pid of pids) seen.add(pid)
  let before = descriptors()
  let rssBefore = 0
  for (let n = 0; n < KILLS; n++) {
    // What is opened when it is first needed is there by then.
    if (n === 2) {
      await Promise.all(handles.map((handle) => handle.result()))
      before = descriptors()
      rssBefore = rssOf(supervisor.pid)
    }
    handles.push(...(await gleaner.enqueueMany(quick, [n, n, n, n, n])))
    const victim = pids[n % 2]!
    process.kill(victim, 'SIGKILL')
    pids[n % 2] = await pidOf(`worker:main:${n % 2}`, seen)
    seen.add(pids[n % 2]!)
  }
  await Promise.all(handles.map((handle) => handle.result()))
  await until('descriptors are as before', () => descriptors().length <= before.length).catch(() =>
    expect(descriptors()).toEqual(before),
  )
  expect(childrenOf(supervisor.pid).sort()).toEqual([...pids].sort())
  expect(rssOf(supervisor.pid) - rssBefore).toBeLessThan(60e6)
})

/** What each of them leads to. */
function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  const targets = readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(`${folder}/${name}`)]
    } catch {
      // It was closed while we looked.
      return []
    }
  })
  return targets.map((target) => target.replace(/\d+/g, 'N')).sort()
}

function passed(ms: number): () => boolean {
  const untilMs = performance.now() + ms
  return () => performance.now() >= untilMs
}

/** Of the process, in user and kernel, with all its threads. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}

function childrenOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`)
  const lists = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'))
  return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
}
