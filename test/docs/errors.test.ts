import { expect, test } from 'vitest'
import { httpStatusOf } from '../../src/http/protocol/problem.ts'
import type { HttpErrorCode } from '../../src/http/wire/types.ts'
import { root, textOf } from '../../tools/docs/pages.ts'
import { publicEntries } from '../../tools/public-api/entries.ts'

/** The codes of a union type, as the code declares it. */
function codesOf(type: string): string[] {
  const entry = publicEntries(root)
    .flatMap(({ entries }) => entries)
    .find(({ name }) => name === type)!
  return [...entry.code.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code!)
}

/** The rows of the page that explain a code: its code, the cause, what to do. */
const rows = [...textOf('docs/guide/errors.md').matchAll(/^\| `([A-Z_]+)` \|(.*)\|(.*)\|$/gm)].map(
  ([, code, cause, advice]) => ({ code: code!, cause: cause!.trim(), advice: advice!.trim() }),
)

test('every code that an error can carry has one row, with the cause and what to do', () => {
  const codes = [...codesOf('ErrorCode'), ...codesOf('HttpErrorCode')]
  expect(codes.length).toBeGreaterThan(60)
  expect(rows.map(({ code }) => code).sort()).toEqual(codes.sort())
  expect(rows.filter(({ cause, advice }) => cause.length < 10 || advice.length < 5)).toEqual([])
})

test('the status of each code of the API is the one that the server sends', () => {
  const statuses = codesOf('HttpErrorCode').map((code) => {
    const said = /^(\d{3}): /.exec(rows.find((row) => row.code === code)!.cause)?.[1]
    return { code, said: Number(said), sent: httpStatusOf(code as HttpErrorCode) }
  })
  expect(statuses.filter(({ said, sent }) => said !== sent)).toEqual([])
})
