import { expect, test } from 'vitest'
import { Pace } from '../../src/worker/pace.ts'

const shortItems = () => {
  const pace = new Pace({ idleMinMs: 1, idleMaxMs: 1, pollMs: 1 })
  pace.ran(0.1)
  return pace
}

test('a worker that gave items back unstarted holds fewer ahead, and more again while claims bring all it asks for', () => {
  const pace = shortItems()
  const before = pace.aheadFor(4)
  pace.gaveBack()
  const after = pace.aheadFor(4)
  expect(after).toBeLessThan(before)
  pace.got(3, { start: 4, ahead: 10 }, true)
  expect(pace.aheadFor(4)).toBe(after)
  for (let claims = 0; claims < 20; claims++) pace.got(4 + 10, { start: 4, ahead: 10 }, true)
  expect(pace.aheadFor(4)).toBe(before)
})

test('however often items went back, a worker asks for one ahead', () => {
  const pace = shortItems()
  for (let times = 0; times < 20; times++) pace.gaveBack()
  expect(pace.aheadFor(4)).toBe(1)
})
