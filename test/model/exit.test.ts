import { expect, test } from 'vitest'
import { exitReasonOf, NOTHING_RECOVERED, type ProcessExit } from '../../src/model/exit.ts'

const KILLED: ProcessExit = {
  code: null,
  signal: 'SIGKILL',
  error: null,
  requested: null,
  ready: true,
  currentJob: null,
  held: 0,
  processed: 0,
}

test.each([
  ['ran an item', { currentJob: 'embed/7' }, 'killed by SIGKILL, while running embed/7'],
  [
    'loaded a resource for an item',
    { ready: false, currentJob: 'embed/7' },
    'killed by SIGKILL, while running embed/7',
  ],
  ['started', { ready: false }, 'killed by SIGKILL, before it reported that it was ready'],
  ['was idle', {}, 'killed by SIGKILL'],
])('the reason says what a worker did that was killed while it %s', (_did, known, reason) => {
  expect(exitReasonOf({ ...KILLED, ...known })).toBe(reason)
})

test('a worker that died with its first item is not said to have died before it was ready', () => {
  const exit = { ...KILLED, ready: false }
  expect(exitReasonOf(exit)).toBe('killed by SIGKILL, before it reported that it was ready')
  expect(exitReasonOf(exit, NOTHING_RECOVERED)).toBe(
    'killed by SIGKILL, before it reported that it was ready',
  )
  // The database tells a moment later what the process held.
  expect(exitReasonOf(exit, { ...NOTHING_RECOVERED, inFlight: true, blamed: '7' })).toBe(
    'killed by SIGKILL, while running 7',
  )
  expect(exitReasonOf(exit, { ...NOTHING_RECOVERED, inFlight: true })).toBe('killed by SIGKILL')
})

test('a worker that died at work is said to have run what its last frame named', () => {
  expect(exitReasonOf({ ...KILLED, currentJob: 'mail/7' }, NOTHING_RECOVERED)).toBe(
    'killed by SIGKILL, while running mail/7',
  )
})
