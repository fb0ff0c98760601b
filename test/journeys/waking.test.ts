import { describe, expect } from 'vitest'
import { test } from './place.ts'
import { patient, quick, tasks } from './tasks.ts'

/** So long that a poll cannot be what found something. */
const RARELY = { idleMin: '10m', idleMax: '10m' } as const

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!

describe('waking', () => {
  test('an idle worker in another process picks up at once, although it would look only in minutes', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    const child = place.start('worker.ts', { timings: RARELY })
    await (await gleaner.enqueue(quick, -1)).result()
    const latencies: number[] = []
    for (let n = 0; n < 20; n++) {
      const at = performance.now()
      const { id } = await gleaner.enqueue(quick, n)
      await child.hears('running', (said) => said.id === id)
      latencies.push(performance.now() - at)
      await child.hears('completed', (said) => said.id === id)
    }
    // The half of them: a single one may meet a busy machine.
    expect(median(latencies)).toBeLessThan(100)
  })

  test('what several processes enqueue at the same time wakes every idle one', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const children = [1, 2, 3].map(() => place.start('worker.ts', { timings: RARELY, concurrency: 1 }))
    await Promise.all(children.map((child) => child.hears('ready')))
    await gleaner.enqueueMany(patient, Array(3).fill(undefined))
    // Each takes one, because the one it has keeps it busy.
    await Promise.all(children.map((child) => child.hears('running')))
  })

  test('a process that is stopped after it was woken leaves its turn to another', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const children = [1, 2, 3].map(() => place.start('worker.ts', { timings: RARELY, concurrency: 1 }))
    await Promise.all(children.map((child) => child.hears('ready')))
    for (let alive = children.length; alive > 1; alive--) {
      const { id } = await gleaner.enqueue(quick, alive)
      const heard = children.map((child) =>
        child.hears('completed', (said) => said.id === id).then(() => child),
      )
      // It would be the first to look for the next one.
      const first = await Promise.race(heard)
      process.kill(first.pid!, 'SIGSTOP')
      children.splice(children.indexOf(first), 1)
    }
    const { id } = await gleaner.enqueue(quick, 0)
    await children[0]!.hears('completed', (said) => said.id === id)
  })

  test('a task whose time comes is picked up then, although nothing wakes anybody', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(quick, 1, { runAfter: '1s' })
    const child = place.start('worker.ts', { timings: RARELY }, place.preload('deaf.ts'))
    await child.hears('running', ({ id }) => id === handle.id)
    const task = await gleaner.tasks.get(handle.id)
    expect(task!.startedAt! - task!.createdAt).toBeGreaterThanOrEqual(1_000)
  })

  test('losing every wake-up costs latency only', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const child = place.start(
      'worker.ts',
      { timings: { idleMin: '50ms', idleMax: '100ms' } },
      place.preload('deaf.ts'),
    )
    await child.hears('ready')
    for (let n = 0; n < 10; n++) {
      const { id } = await gleaner.enqueue(quick, n)
      await child.hears('completed', (said) => said.id === id)
    }
  })

  test('a watch that cannot be opened costs latency only', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const child = place.start(
      'worker.ts',
      { timings: { idleMin: '50ms', idleMax: '100ms' } },
      place.preload('blind.ts'),
    )
    const { id } = await gleaner.enqueue(quick, 1)
    await child.hears('completed', (said) => said.id === id)
    const next = await gleaner.enqueue(quick, 2)
    await child.hears('completed', (said) => said.id === next.id)
    expect(child.errors).toBe('')
  })

  test('a result is brought to a process that waits for it', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const child = place.start('worker.ts', { timings: RARELY })
    const handle = await gleaner.enqueue(patient)
    await child.hears('running')
    const result = handle.result({ timeout: '30s' })
    child.tell('release')
    expect(await result).toBe(child.pid)
    // Another handle, made from the id alone, long after.
    expect(await gleaner.handle(patient, handle.id).result()).toBe(child.pid)
  })

  test('several workers of one process share its work', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const child = place.start('worker.ts', { timings: RARELY, concurrency: [1, 1, 1] })
    await child.hears('ready')
    const handles = await gleaner.enqueueMany(patient, Array(3).fill(undefined))
    await Promise.all(handles.map(({ id }) => child.hears('running', (said) => said.id === id)))
    const workers = await Promise.all(handles.map(async ({ id }) => (await gleaner.tasks.get(id))!.worker))
    expect(new Set(workers).size).toBe(3)
    for (const worker of workers) expect(worker).toContain(String(child.pid))
    child.tell('release')
    await Promise.all(handles.map((handle) => handle.result()))
  })
})
