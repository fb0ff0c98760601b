import { expect, test } from 'vitest'
import { Neighbours } from '../../../src/store/postgres/server/neighbours.ts'

const ids = Array.from({ length: 32 }, (_, n) => String(n + 1))

/** As 32 processes with a session each know each other. */
function processes(): Neighbours[] {
  return ids.map((id) => {
    const neighbours = new Neighbours()
    neighbours.opened(id)
    neighbours.saw(ids.map((one) => ({ id: one, leaseMs: null })))
    return neighbours
  })
}

test('each of 32 processes has a place of its own, and all places are taken', () => {
  const places = processes().map((one) => one.placesOf('a seed'))
  expect(new Set(places.map(({ count }) => count))).toEqual(new Set([32]))
  expect(places.flatMap(({ own }) => own).sort((a, b) => a - b)).toEqual(ids.map((_, n) => n))
})

test('the first place goes around: seeds find each process', () => {
  const all = processes()
  const first = new Set<number>()
  for (let seed = 0; seed < 500; seed++)
    first.add(all.findIndex((one) => one.placesOf(`s${seed}`).own[0] === 0))
  expect(first.size).toBe(32)
})

test('a process that nobody has seen yet has a place, and one whose session ended has none', () => {
  const [one] = processes()
  one!.opened('new')
  expect(one!.placesOf('s')).toMatchObject({ count: 33, own: [expect.any(Number), expect.any(Number)] })
  one!.ended('1')
  one!.ended('new')
  expect(one!.placesOf('s').own).toEqual([])
  expect(one!.areHere).toBe(false)
})
