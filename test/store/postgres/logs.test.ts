import { expect } from 'vitest'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { Claimant } from '../../conformance/claimant.ts'
import { newTask } from '../../conformance/world.ts'
import { explained, nodesOf } from './explained.ts'
import { test } from './place.ts'

test('lines of a log are written without a look at the lines of other tasks, also when the planner knows of none', async ({
  place,
}) => {
  const store = await place.store()
  const clock = new ManualClock()
  const worker = await new Claimant(store, clock).begin()
  await store.tasks.enqueue(Array.from({ length: 40 }, () => newTask()))
  const claims = await worker.claim(40)
  const logsOf = (some: typeof claims) =>
    some.map(({ id, fence }) => ({
      ...{ id, fence },
      lines: Array.from({ length: 50 }, (_, n) => ({
        ...{ at: clock.now(), attempt: 1, level: 'info' as const },
        ...{ message: `line ${n}`, details: null },
      })),
    }))
  await worker.exchange({ logs: logsOf(claims.slice(0, 20)) })
  await worker.exchange({ logs: logsOf(claims.slice(20, 30)) })
  const isWrite = (text: string) => /INSERT INTO \S*logs/.test(text)
  const plans = await explained(isWrite, () => worker.exchange({ logs: logsOf(claims.slice(30)) }))
  const reads = plans
    .flatMap(nodesOf)
    .filter((node) => node['Relation Name'] === 'logs' && 'Index Name' in node)
  expect(reads.length).toBeGreaterThan(0)
  expect(reads.map((node) => node['Actual Rows'] * node['Actual Loops'])).toEqual(reads.map(() => 0))
  const page = await store.tasks.taskLogs(claims[35]!.id, { limit: 60, cursor: null })
  expect(page.items.map(({ message }) => message)).toEqual(Array.from({ length: 50 }, (_, n) => `line ${n}`))
})
