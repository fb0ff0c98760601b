import { expect, test } from 'vitest'
import { decide, type Outcome } from '../../src/model/outcome.ts'
import type { Failure, FailureKind } from '../../src/model/task.ts'
import { heldTask } from './held.ts'

const failure: Failure = { kind: 'error', message: 'no', stack: null }
const failed = (retryAfterMs: number | null, kind: FailureKind = 'error'): Outcome => ({
  kind: 'failed',
  failure: { ...failure, kind },
  retryAfterMs,
})

test('what completed is completed, even when somebody asked to cancel it', () => {
  const outcome: Outcome = { kind: 'completed', result: '1' }
  for (const cancelRequested of [false, true]) {
    expect(decide(heldTask({ cancelRequested }), outcome)).toEqual({ to: 'completed', result: '1' })
  }
})

test('what failed waits for its next attempt, and the failure is remembered', () => {
  expect(decide(heldTask({ attempts: 2, crashes: 1 }), failed(500))).toEqual({
    to: 'waiting',
    afterMs: 500,
    keepsPlace: false,
    attempts: 2,
    crashes: 1,
    suspect: false,
    failure,
    outcome: 'error',
  })
})

test('what failed in its last attempt has failed for good', () => {
  expect(decide(heldTask({ attempts: 3, crashes: 1 }), failed(500, 'timeout'))).toEqual({
    to: 'failed',
    failure: { ...failure, kind: 'timeout' },
    outcome: 'timeout',
    crashes: 1,
  })
})

test('a failure without another try is final, whatever attempts are left', () => {
  expect(decide(heldTask(), failed(null, 'permanent'))).toMatchObject({ to: 'failed', outcome: 'permanent' })
})

test('a suspect that fails like anybody else is suspected no longer', () => {
  expect(decide(heldTask({ suspect: true }), failed(0))).toMatchObject({ to: 'waiting', suspect: false })
})

test('what is put off gets its attempt back and waits', () => {
  expect(decide(heldTask({ attempts: 3 }), { kind: 'later', afterMs: 50 })).toMatchObject({
    to: 'waiting',
    afterMs: 50,
    attempts: 2,
    failure: null,
    outcome: 'later',
  })
})

test('what is handed back gets its attempt back, and leaves a trace only when it was started', () => {
  const back = (started: boolean) =>
    decide(heldTask({ started, attempts: 3, suspect: true }), { kind: 'returned' })
  expect(back(true)).toMatchObject({
    to: 'waiting',
    afterMs: 0,
    attempts: 2,
    suspect: true,
    outcome: 'returned',
  })
  expect(back(false)).toMatchObject({ to: 'waiting', attempts: 2, outcome: null })
})

test('what somebody cancelled is not run again, however its last run ended', () => {
  const outcomes: Outcome[] = [
    failed(0),
    failed(null),
    { kind: 'later', afterMs: 5 },
    { kind: 'returned' },
    { kind: 'cancelled' },
  ]
  for (const outcome of outcomes) {
    expect(decide(heldTask({ cancelRequested: true, attempts: 2 }), outcome)).toEqual({
      to: 'cancelled',
      attempts: 2,
    })
  }
})
