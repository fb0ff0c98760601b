import { expect, test } from 'vitest'
import {
  BLANK,
  CHANGES_MAX,
  entryAfter,
  entryAfterChange,
  entryReleased,
  NEVER,
} from '../../src/model/ledger.ts'
import { decide, type Held } from '../../src/model/outcome.ts'
import { readRowId, rowId } from '../../src/model/row.ts'

const NOW = 1_000_000
const failure = { kind: 'error', message: 'no', stack: null } as const

function held(some: Partial<Held> = {}): Held {
  const plain = { id: 'd/1', attempts: 1, maxAttempts: 3, crashes: 0, suspect: false, started: true }
  return { ...plain, cancelRequested: false, ...some }
}

function after(row: Held, outcome: Parameters<typeof decide>[1], before = null as typeof BLANK | null) {
  const transition = decide(row, outcome)
  if (transition.to === 'completed' || transition.to === 'cancelled') throw new Error('not of a row')
  return entryAfter(before, row.attempts, transition, NOW)
}

test('a row that was handed back is as good as new', () => {
  expect(after(held(), { kind: 'returned' })).toBe(null)
})

test('a row that failed backs off, and its attempt is told', () => {
  const entry = after(held(), { kind: 'failed', failure, retryAfterMs: 500 })
  expect(entry).toMatchObject({ attempts: 1, blockedUntil: NOW + 500, quarantined: false, error: failure })
  expect(entry?.history).toEqual([{ attempt: 1, at: NOW, outcome: 'error', message: 'no' }])
})

test('the last attempt quarantines', () => {
  const entry = after(held({ attempts: 3 }), { kind: 'failed', failure, retryAfterMs: 500 })
  expect(entry).toMatchObject({ attempts: 3, quarantined: true, blockedUntil: NEVER })
})

test('a handler that asks for another time is charged nothing', () => {
  const entry = after(held(), { kind: 'later', afterMs: 500 })
  expect(entry).toMatchObject({ attempts: 0, blockedUntil: NOW + 500, history: [] })
})

test('an edited row is free at once, until it was edited too often in a row', () => {
  let entry = entryAfterChange(null, 500, NOW)
  for (let change = 2; change < CHANGES_MAX; change++) entry = entryAfterChange(entry, 500, NOW)
  expect(entry).toMatchObject({ changes: CHANGES_MAX - 1, blockedUntil: 0, error: null })
  entry = entryAfterChange(entry, 500, NOW)
  expect(entry.blockedUntil).toBe(NOW + 500)
  expect(entry.error?.message).toMatch(/Does its own handler write it\?/)
})

test('the history is bounded', () => {
  let entry: typeof BLANK | null = null
  for (let attempt = 1; attempt <= 50; attempt++) {
    const row = held({ attempts: attempt, maxAttempts: 99 })
    entry = after(row, { kind: 'failed', failure, retryAfterMs: 1 }, entry)
  }
  expect(entry?.history).toHaveLength(10)
  expect(entry?.history.at(-1)?.attempt).toBe(50)
})

test('what is released starts anew; what took workers down, alone', () => {
  expect(entryReleased({ ...BLANK, attempts: 3, quarantined: true, blockedUntil: NEVER })).toBe(null)
  const suspect = entryReleased({ ...BLANK, crashes: 3, quarantined: true, blockedUntil: NEVER })
  expect(suspect).toEqual({ ...BLANK, suspect: true })
})

test('the id of a row names its discovery and its key, whatever the key holds', () => {
  expect(readRowId(rowId('tag-files', '["a/b",1]'))).toEqual({ discovery: 'tag-files', key: '["a/b",1]' })
  expect(readRowId('42')).toBe(null)
})
