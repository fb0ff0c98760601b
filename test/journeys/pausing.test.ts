import { describe, expect } from 'vitest'
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
