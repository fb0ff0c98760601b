import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasLongInteger, readExactly, unholdableIn, writeExactly } from '../src/exact-json.ts'
import { timesAsLong } from './compare-speed.ts'

test('integers keep all their digits, read and written', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), fc.string(), (number, text) => {
      const json = `{"n":${number},"list":[${number},1.5,null],"text":${JSON.stringify(text)}}`
      expect(writeExactly(readExactly(json))).toBe(json)
    }),
  )
})

test('text that looks like a number, or like JSON, stays what it is', () => {
  for (const text of ['9007199254740993', '"9007199254740993"', '{"rawJSON":"1"}', '$&'])
    expect(readExactly(writeExactly({ text, n: 9007199254740993n }))).toEqual({ text, n: 9007199254740993n })
  expect(readExactly('{"n":1e400,"m":1234567890123456.5}')).toEqual({
    n: Number.POSITIVE_INFINITY,
    m: 1234567890123456.5,
  })
})

test('an integer of a million digits is read at once, and is too large for a number', async () => {
  const text = `{"n":${'7'.repeat(1_000_000)}}`
  // To make a BigInt of it takes hundreds of times as long.
  const ratio = await timesAsLong(
    () => readExactly(text),
    () => JSON.parse(text),
    20,
  )
  expect(ratio).toBeLessThan(20)
  const read = readExactly(text)
  expect(read).toEqual({ n: Number.POSITIVE_INFINITY })
  expect(unholdableIn(read)).toEqual({ path: ['n'], number: Number.POSITIVE_INFINITY })
})

test('an integer of 16 digits is found wherever it stands, and digits behind a point are none', () => {
  const pieces = fc.array(
    fc.constantFrom('1234567890123456', '0.1234567890123456', '123456789012345', '7', '.', ',', '"x"'),
  )
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join('')
      expect(hasLongInteger(text)).toBe(/(?<![.\d])\d{16}/.test(text))
    }),
  )
})
