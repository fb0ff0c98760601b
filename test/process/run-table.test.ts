import { expect, test } from 'vitest'
import { SharedRunTable } from '../../src/process/run-table.ts'
import type { Attempt } from '../../src/worker/attempt/attempt.ts'

/** As far as a blackboard looks at a run. */
function run(place: number, item: string, deadlineMs = 1_000): Attempt {
  return { place, item, deadlineMs, startedAt: 500, claim: { fence: 7 } } as Attempt
}

test('what one thread writes the other reads, the earliest deadline first', () => {
  const board = new SharedRunTable(4)
  const seen = new SharedRunTable(board.memory)
  board.began(run(0, 'late/1', 9_000))
  board.began(run(1, 'soon/2', 2_000))
  board.began(run(2, 'never/3', Number.POSITIVE_INFINITY))
  expect(seen.running).toBe(3)
  // The clock of deadlines shows 1 000 when it is 50 000 on the wall.
  expect(seen.items(10, 1_000, 50_000)).toEqual([
    { item: 'soon/2', fence: 7, since: 500, deadline: 51_000 },
    { item: 'late/1', fence: 7, since: 500, deadline: 58_000 },
    { item: 'never/3', fence: 7, since: 500, deadline: null },
  ])
  expect(seen.items(1, 1_000, 50_000)).toHaveLength(1)
})

test('whoever ends leaves his place to the last one', () => {
  const board = new SharedRunTable(3)
  const last = run(1, 'b/2')
  board.began(run(0, 'a/1'))
  board.began(last)
  board.ended(0, run(0, 'b/2'))
  expect(board.items(10, 0, 0).map(({ item }) => item)).toEqual(['b/2'])
  board.ended(0, null)
  expect(board.items(10, 0, 0)).toEqual([])
})

test('more runs than there is room for are counted, and a name of any length is cut', () => {
  const board = new SharedRunTable(1)
  board.began(run(0, `long/${'ä'.repeat(1_000)}`))
  board.began(run(1, 'no/room'))
  expect(board.running).toBe(2)
  const [only, ...others] = board.items(10, 0, 0)
  expect(others).toEqual([])
  expect(only!.item).toMatch(/^long\/ä+$/)
})

test('the first run and the last one wake whoever watches', async () => {
  const board = new SharedRunTable(2)
  const seen = new SharedRunTable(board.memory)
  const begun = seen.change(0)
  board.began(run(0, 'a/1'))
  await begun
  const ended = seen.change(1)
  board.ended(0, null)
  await ended
  expect(seen.running).toBe(0)
})
