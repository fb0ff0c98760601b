import { expect, test } from 'vitest'
import { reasonOf } from '../../src/supervisor/death.ts'

type Child = Parameters<typeof reasonOf>[0]

const killed = { code: null, signal: 'SIGKILL', error: null } as Parameters<typeof reasonOf>[1]
const worker = (ready: boolean, currentJob: string | null) =>
  ({ ending: null, ready, frame: { currentJob } }) as unknown as Child

test.each([
  ['ran an item', worker(true, 'embed/7'), 'killed by SIGKILL, while running embed/7'],
  ['loaded a resource for an item', worker(false, 'embed/7'), 'killed by SIGKILL, while running embed/7'],
  ['started', worker(false, null), 'killed by SIGKILL, before it reported that it was ready'],
  ['was idle', worker(true, null), 'killed by SIGKILL'],
])('the reason says what a worker did that was killed while it %s', (_did, child, reason) => {
  expect(reasonOf(child, killed)).toBe(reason)
})
