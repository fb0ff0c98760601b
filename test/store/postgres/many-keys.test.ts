import { expect } from 'vitest'
import { z } from 'zod'
import { defineTask } from '../../../src/index.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { testMigrated } from './place.ts'

const KEYS = 2_600
/** Changes of keys that one exchange takes into account: it may try twice. */
const FOLDED_MAX = 1_000

testMigrated(
  'a claim takes the changes of a bounded number of limit keys into account, and the next one goes on',
  async ({ place }) => {
    const clock = new ManualClock()
    const store = await place.store({ clock })
    await store.admin.planLimits([{ task: 'job', limit: { concurrency: 1, rate: null } }])
    await store.tasks.enqueue(Array.from({ length: KEYS }, (_, n) => newTask({ limitKey: `tenant-${n}` })))
    const changes = async () => (await place.rows('SELECT gate FROM gleaner.gate_news')).length

    await store.tasks.enqueue([newTask({ name: 'other' })])
    const other = await new Claimant(store, clock, { names: ['other'], worker: 'worker:test:1' }).begin()
    expect(await other.claim()).toHaveLength(1)
    const left = await changes()
    expect(left).toBeGreaterThanOrEqual(KEYS - FOLDED_MAX)

    // It may not run what has these keys, and yet goes on.
    const { claims, nextDueInMs } = await other.take()
    expect(claims).toEqual([])
    expect(nextDueInMs).toBeLessThan(100)
    expect(await changes()).toBeLessThan(left)

    const worker = await new Claimant(store, clock).begin()
    const claimed = new Set<string>()
    for (let found = -1; found < claimed.size; ) {
      found = claimed.size
      for (const { id } of await worker.claim(KEYS)) claimed.add(id)
    }
    expect(claimed.size).toBe(KEYS)
    expect(await changes()).toBe(0)
  },
)

testMigrated(
  'a worker is not drained while its task waits behind changes of thousands of keys of others',
  async ({ place }) => {
    const limit = { key: (tenant: string) => tenant, concurrency: 1 }
    const others = defineTask({ name: 'others', input: z.string(), limit, run() {} })
    const ran: string[] = []
    const own = defineTask({
      ...{ name: 'own', input: z.string(), limit },
      run: (tenant) => void ran.push(tenant),
    })
    const producer = await place.open({ tasks: [own, others] })
    await producer.enqueueMany(
      others,
      Array.from({ length: KEYS }, (_, n) => `tenant-${n}`),
    )
    await producer.enqueue(own, 'last')
    const gleaner = await place.open({ tasks: [own] })
    await gleaner.work().drained()
    expect(ran).toEqual(['last'])
  },
)
