import { once } from 'node:events'
import { systemClock } from '../../src/clock.ts'
import type { Claim } from '../../src/store/ports/exchange.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { Claimant } from './claimant.ts'
import { newTask } from './world.ts'

/** A process of its own, started by contention.ts: claims and completes until there is nothing left, or enqueues. */

export type ToContender = { kind: 'work' } | { kind: 'enqueue'; count: number }
export type FromContender =
  | { kind: 'ready'; pid: number }
  | { kind: 'end'; completed: string[]; refused: string[]; error: string | null }

/** Small enough that each process asks hundreds of times: luck evens out. */
const BATCH = 5

const [module, database] = process.argv.slice(2)
const { openStore } = (await import(module!)) as {
  openStore(database: string, options: object): Promise<Store>
}
const store = await openStore(database!, {})
const claimant = await new Claimant(
  store,
  { ...systemClock, advance() {} },
  { worker: `worker:${process.pid}:0` },
).begin()
tell({ kind: 'ready', pid: process.pid })
const [order] = (await once(process, 'message')) as [ToContender]

const completed: string[] = []
const refused: string[] = []
try {
  if (order.kind === 'enqueue') await enqueue(order.count)
  else await work()
  tell({ kind: 'end', completed, refused, error: null })
} catch (error) {
  tell({ kind: 'end', completed, refused, error: String(error) })
}
await claimant.end('stop')
await store.close()
process.disconnect()

async function enqueue(count: number): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    await store.tasks.enqueue(Array.from({ length: Math.min(BATCH, count - done) }, () => newTask()))
  }
}

async function work(): Promise<void> {
  let claims = await claimant.claim(BATCH)
  while (claims.length > 0) claims = await handIn(claims)
}

async function handIn(claims: readonly Claim[]): Promise<Claim[]> {
  const answer = await claimant.exchange({
    outcomes: claims.map(({ id, fence }) => ({
      id,
      fence,
      startedAt: systemClock.now(),
      outcome: { kind: 'completed', result: null },
    })),
    want: { able: claimant.able, start: BATCH, ahead: 0, empty: true },
  })
  refused.push(...answer.refused)
  for (const { id } of claims) if (!answer.refused.includes(id)) completed.push(id)
  return answer.claims
}

function tell(message: FromContender): void {
  process.send!(message)
}
