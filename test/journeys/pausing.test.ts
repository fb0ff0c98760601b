import { describe, expect } from 'vitest'
import type { Gleaner } from '../../src/index.ts'
import { until } from '../until.ts'
import { test } from './place.ts'
import { patient, quick, tasks } from './tasks.ts'

describe.concurrent('pausing', () => {
  test('a global pause reaches other processes: what runs goes on, nothing new begins', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const handle = await gleaner.enqueue(patient)
    const child = place.start('worker.ts', { concurrency: 4 })
    await child.hears('running')
    await gleaner.pause()
    const held = await gleaner.enqueue(quick, 1)
    child.tell('release')
    // The worker exchanged outcomes after the pause, and had room for more.
    expect(await handle.result()).toBe(child.pid)
    expect(await gleaner.queues.list()).toMatchObject([{ name: 'default', paused: true, queued: 1 }])
    expect(await gleaner.tasks.get(held.id)).toMatchObject({ status: 'queued', attempts: 0 })
    await gleaner.resume()
    expect(await held.result()).toBe(1)
  })

  test('when a pause is answered nothing more starts, also of what busy workers held ahead', async ({
    place,
  }) => {
    const gleaner = await place.open({ tasks })
    for (let n = 0; n < 2; n++) place.start('worker.ts', { concurrency: 2 })
    let left = 20_000
    await gleaner.enqueueMany(quick, Array(left).fill(1))
    // In the midst of it, some times.
    for (let round = 0; round < 5 && left > 0; round++) {
      const before = left
      await until('they are at it', async () => (await waiting(gleaner)) < before)
      await gleaner.queues.pause('default')
      left = await waiting(gleaner)
      await until('what had begun is done', async () => (await gleaner.tasks.counts()).running === 0)
      expect(await waiting(gleaner)).toBe(left)
      await gleaner.queues.resume('default')
    }
  })

  test('a paused queue holds only its own tasks', async ({ place }) => {
    const gleaner = await place.open({ tasks })
    const child = place.start('worker.ts', { queues: ['default', 'mail'] })
    await child.hears('ready')
    await gleaner.queues.pause('mail')
    const held = await gleaner.enqueue(quick, 1, { queue: 'mail', priority: 1 })
    const free = await gleaner.enqueue(quick, 2)
    expect(await free.result()).toBe(2)
    expect(await gleaner.tasks.get(held.id)).toMatchObject({ status: 'queued', attempts: 0 })
    await gleaner.queues.resume('mail')
    expect(await held.result()).toBe(1)
  })

  test('a pause survives everybody: who starts later heeds it, too', async ({ place }) => {
    const first = await place.open({ tasks })
    await first.pause()
    const { id } = await first.enqueue(quick, 1)
    await first.close()
    const second = await place.open({ tasks })
    const worker = second.work()
    await worker.drained()
    expect(await second.tasks.get(id)).toMatchObject({ status: 'queued', attempts: 0 })
    await second.resume()
    expect(await second.handle(quick, id).result()).toBe(1)
  })
})

async function waiting(gleaner: Gleaner): Promise<number> {
  return (await gleaner.tasks.counts()).queued
}
