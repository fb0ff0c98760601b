import type { Outcome } from '../../src/model/outcome.ts'
import type { ClaimProof } from '../../src/store/ports/exchange.ts'
import type { Claimant } from './claimant.ts'
import type { World } from './world.ts'

/** Answers whether the store said that it refused. Progress and logs are dropped without a word. */
type Write = (worker: Claimant, claim: ClaimProof, world: World) => Promise<boolean | 'unsaid'>

const OUTCOMES: Record<string, Outcome> = {
  'a completion': { kind: 'completed', result: '"late"' },
  'a failure that is final': {
    kind: 'failed',
    failure: { kind: 'error', message: 'late', stack: null },
    retryAfterMs: null,
  },
  'a failure to be retried': {
    kind: 'failed',
    failure: { kind: 'error', message: 'late', stack: null },
    retryAfterMs: 5,
  },
  'a put-off': { kind: 'later', afterMs: 5 },
  'a hand-back': { kind: 'returned' },
  'a cancellation': { kind: 'cancelled' },
}

/** Everything a worker can write about a task: each must prove its claim and its session. */
export const WRITES: Record<string, Write> = {
  ...Object.fromEntries(
    Object.entries(OUTCOMES).map(([name, outcome]): [string, Write] => [
      name,
      async (worker, claim) => (await worker.settle(claim, outcome)).refused.includes(claim.id),
    ]),
  ),
  'a start': async (worker, claim) => (await worker.start(claim)).refused.includes(claim.id),
  async progress(worker, { id, fence }) {
    await worker.exchange({ progress: [{ id, fence, fraction: 0.9, message: 'late' }] })
    return 'unsaid'
  },
  async 'a log line'(worker, claim) {
    await worker.log(claim, 'late')
    return 'unsaid'
  },
  'a completion with effects': async (worker, claim, { database }) =>
    !(await worker.completeWith(claim, (tx) => database.notes.write(tx, 'late'), '"late"')),
}

/** All that a late write could have changed. */
export async function everythingAbout(world: World, id: string): Promise<unknown> {
  const { store, database } = world
  return {
    task: await store.tasks.getTask(id),
    logs: await store.tasks.taskLogs(id, { limit: 100, cursor: null }),
    attempts: await store.tasks.taskAttempts(id),
    counts: await world.counts(),
    notes: await database.notes.all(),
  }
}
