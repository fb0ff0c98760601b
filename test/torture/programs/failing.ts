import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { FILES } from '../power/records.ts'
import { MARKS } from '../syscalls.ts'

/** Where power.c looks whether the next sync of a file is to fail. */
const FAILS_NEXT_AT = 12

/** What a program does to the syncs of its files, and what it says among them. */
export function failing(folder: string) {
  const shared = openSync(join(folder, 'shared'), 'r+')
  const marks = openSync(MARKS, 'w')
  return {
    letNextSyncFail(file: (typeof FILES)[number]) {
      writeSync(shared, Buffer.from([1 + FILES.indexOf(file), 0, 0, 0]), 0, 4, FAILS_NEXT_AT)
    },
    mark: (text: string) => writeSync(marks, text),
  }
}

/** What became of it, in a word. */
export function outcomeOf(what: () => unknown): Promise<string> {
  return Promise.resolve()
    .then(what)
    .then(
      () => 'acknowledged',
      ({ code }) => code,
    )
}
