import fc from 'fast-check'
import { expect, test } from 'vitest'
import { satisfies } from '../../src/model/capabilities.ts'

const value = fc.oneof(fc.constantFrom('eu', 'us'), fc.constantFrom(1, 2), fc.boolean())
const requires = fc.dictionary(fc.constantFrom('a', 'b', 'c'), value)

test('who requires nothing runs anywhere', () => {
  expect(satisfies(null, {})).toBe(true)
  expect(satisfies({}, {})).toBe(true)
})

test('a worker that offers exactly what is required may run it', () => {
  fc.assert(fc.property(requires, (wanted) => satisfies(wanted, wanted)))
})

test('a worker that offers one of several values may run what requires one of them', () => {
  fc.assert(
    fc.property(requires, value, (wanted, more) => {
      const offers = Object.fromEntries(Object.entries(wanted).map(([name, one]) => [name, [more, one]]))
      expect(satisfies(wanted, offers)).toBe(true)
    }),
  )
})

test('a worker that lacks one of the requirements may not run it', () => {
  fc.assert(
    fc.property(requires, (wanted) => {
      const [first] = Object.keys(wanted)
      fc.pre(first !== undefined)
      const { [first!]: _, ...offers } = wanted
      expect(satisfies(wanted, offers)).toBe(false)
    }),
  )
})

test('values are compared with their type, and names of the language mean nothing', () => {
  expect(satisfies({ cores: 4 }, { cores: '4' })).toBe(false)
  expect(satisfies({ gpu: true }, { gpu: 1 })).toBe(false)
  expect(satisfies({ toString: true }, {})).toBe(false)
})
