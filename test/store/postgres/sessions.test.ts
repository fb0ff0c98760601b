import { expect } from 'vitest'
import type { Exchange } from '../../../src/store/ports/exchange.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { newTask } from '../../conformance/world.ts'
import { type Place, testMigrated as test } from './place.ts'

const able = { queues: ['default'], names: ['job'], capabilities: {} }

function openSession(store: Store): Promise<string> {
  return store.sessions.openSession({
    worker: 'worker:far:0',
    process: { host: 'far', boot: 'far', pid: 1, startTime: null },
    queues: ['default'],
    names: [],
    capabilities: {},
  })
}

function exchange(session: string, more: Partial<Exchange>): Exchange {
  return { session, starts: [], outcomes: [], progress: [], logs: [], want: null, ...more }
}

/** Somebody is waiting for a lock, or what was begun has ended. */
async function waitingOrDone(place: Place, kind: string, begun: Promise<unknown>): Promise<void> {
  let done = false
  begun.finally(() => {
    done = true
  })
  await place.until(
    'somebody waits',
    async () =>
      done ||
      (
        await place.rows(
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = $1 AND query LIKE $2`,
          [kind, `%${place.schema}%`],
        )
      ).length > 0,
  )
}

test('a session that is ended while it claims gives back what it claims, too', async ({ place }) => {
  const store = await place.store()
  await store.tasks.enqueue([newTask(), newTask()])
  const session = await openSession(store)
  // The claim stops in the middle of its transaction: it has seen its session alive, and nothing is claimed yet.
  const client = await place.client()
  await client.query(`BEGIN; LOCK TABLE ${place.schema}.tasks IN EXCLUSIVE MODE`)
  const claiming = store.tasks.exchange(
    exchange(session, { holding: [], want: { able, start: 2, ahead: 0, empty: true } }),
  )
  await waitingOrDone(place, 'relation', claiming)
  const ending = store.sessions.endSession(session, 'lease')
  await waitingOrDone(place, 'transactionid', ending)
  await client.query('COMMIT')
  expect((await claiming).claims).toHaveLength(2)
  expect(await ending).toMatchObject({ returned: 2 })
  expect(await place.rows('SELECT 1 FROM gleaner.tasks WHERE fence IS NOT NULL')).toEqual([])
})

test('the keeper does not wait for a transaction of its worker, however long that takes', async ({
  place,
}) => {
  const store = await place.store()
  await store.tasks.enqueue([newTask()])
  const session = await openSession(store)
  const { claims } = await store.tasks.exchange(
    exchange(session, { want: { able, start: 1, ahead: 0, empty: true } }),
  )
  const gate = Promise.withResolvers<void>()
  const inside = Promise.withResolvers<void>()
  const run = { id: claims[0]!.id, fence: claims[0]!.fence, startedAt: 1 }
  const completing = store.tasks.completeWith(session, run, null, async () => {
    inside.resolve()
    await gate.promise
  })
  await inside.promise
  const { openPostgresRenewer } = await import('../../../src/store/postgres/sessions/renewer.ts')
  const renewer = openPostgresRenewer({ url: place.url, schema: place.schema, lockTimeoutMs: 2_000 }, 30_000)
  try {
    expect(await renewer.renew([session])).toEqual([session])
  } finally {
    gate.resolve()
    await completing
    await renewer.close()
  }
  expect(await completing).toBe(true)
})

test('who ends a session waits for effects that are under way, and they are kept', async ({ place }) => {
  const store = await place.store()
  const other = await place.store()
  await store.tasks.enqueue([newTask()])
  const session = await openSession(store)
  const want = { able, start: 1, ahead: 0, empty: true }
  const { claims } = await store.tasks.exchange(exchange(session, { want }))
  const { id, fence } = claims[0]!
  let ending: Promise<unknown> = Promise.resolve()
  const completed = await store.tasks.completeWith(session, { id, fence, startedAt: 1 }, null, async () => {
    ending = other.sessions.endSession(session, 'lease')
    await waitingOrDone(place, 'transactionid', ending)
  })
  expect(completed).toBe(true)
  expect(await ending).toMatchObject({ returned: 0 })
  expect(await store.tasks.getTask(id)).toMatchObject({ status: 'completed' })
})
