import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson, writeJson } from '../../web/api/exact-json.ts'

test('integers keep all their digits, read and written', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), fc.string(), (number, text) => {
      const json = `{"n":${number},"list":[${number},1.5,null],"text":${JSON.stringify(text)}}`
      expect(writeJson(readJson(json), 0)).toBe(json)
    }),
  )
})

test('text that looks like a number, or like our own marks, stays what it is', () => {
  for (const text of ['9007199254740993', '"bigint:9007199254740993:0"', 'bigint:1:0', '$&'])
    expect(readJson(writeJson({ text, n: 9007199254740993n }, 0))).toEqual({ text, n: 9007199254740993n })
  expect(readJson('{"n":1e400,"m":1234567890123456.5}')).toEqual({
    n: Number.POSITIVE_INFINITY,
    m: 1234567890123456.5,
  })
})
