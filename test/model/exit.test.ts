import { expect, test } from 'vitest'
import { GleanerError } from '../../src/errors.ts'
import {
  crashedOn,
  EXIT,
  type ExitRequest,
  exitCauseOf,
  exitOfFailed,
  exitReasonOf,
  guessRecovered,
  isCleanExit,
  NOTHING_RECOVERED,
  type ProcessExit,
  sessionEndOf,
} from '../../src/model/exit.ts'

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

test('the exit codes are those of the contract', () => {
  expect(EXIT).toEqual({ clean: 0, configuration: 10, database: 11, resource: 12, resourceErrors: 13 })
})

test.each([
  ['STORE_BUSY', 11],
  ['RESOURCE_LOAD', 12],
  ['RESOURCE_ERRORS', 13],
])('a worker that gave itself up with %s exits with %d', (code, exit) => {
  expect(exitOfFailed(new GleanerError('gone', { code: code as never }))).toBe(exit)
})

const requests: readonly [ExitRequest, 'stop' | 'crash'][] = [
  [{ kind: 'stop' }, 'stop'],
  [{ kind: 'replaced' }, 'stop'],
  [{ kind: 'given-up' }, 'stop'],
  [{ kind: 'overdue', items: [] }, 'stop'],
  [{ kind: 'hung' }, 'crash'],
  [{ kind: 'start-up' }, 'crash'],
]

test.each(requests)('the sessions of a process that was ended by %o end with %s', (requested, end) => {
  expect(sessionEndOf(requested)).toBe(end)
  expect(sessionEndOf(null)).toBe('crash')
})

const held = { ...NOTHING_RECOVERED, inFlight: true }
const exited = (code: number, more: Partial<ProcessExit> = {}): ProcessExit => ({
  ...KILLED,
  signal: null,
  code,
  ...more,
})

test.each([
  ['asked for', exited(10, { requested: { kind: 'stop' } }), held, 'asked'],
  ['a crash if it had to be killed', { ...KILLED, requested: { kind: 'hung' } as const }, held, 'explained'],
  ['of its configuration', exited(10), held, 'configuration'],
  ['of the database', exited(11), held, 'database'],
  ['of a broken worker', KILLED, { ...held, workerBroken: true }, 'broken'],
  ['a leave, with success and nothing held', exited(0), NOTHING_RECOVERED, 'left'],
  ['explained by the item that was held, also with success', exited(0), held, 'explained'],
  ['unexplained before it was ready', exited(0, { ready: false }), NOTHING_RECOVERED, 'unexplained'],
  ['unexplained when no resource loads, whatever is held', exited(12), held, 'unexplained'],
  ['unexplained after too many resource errors, whatever is held', exited(13), held, 'unexplained'],
  ['explained by what it held', KILLED, held, 'explained'],
  ['unexplained when it held nothing', KILLED, NOTHING_RECOVERED, 'unexplained'],
] as const)('an exit is %s', (_what, exit, recovered, cause) => {
  expect(exitCauseOf(exit, recovered)).toBe(cause)
})

test.each([
  ['with success, at work and unasked', {}, true],
  ['with another code', { code: 1 }, false],
  ['before it was ready', { ready: false }, false],
  ['because it was asked to', { requested: { kind: 'stop' } as const }, false],
])('an exit %s is clean or not', (_what, more, clean) => {
  expect(isCleanExit(exited(0, more))).toBe(clean)
})

test('until the database tells, the last frame says what was held', () => {
  expect(guessRecovered({ ...KILLED, held: 0 })).toEqual({
    inFlight: false,
    blamed: null,
    workerBroken: false,
  })
  expect(guessRecovered({ ...KILLED, held: 1 })).toEqual({
    inFlight: true,
    blamed: null,
    workerBroken: false,
  })
})

test('the items on which processes ended in a row are the last four, until one finished something', () => {
  const before = ['1', '2', '3', '4']
  expect(crashedOn(KILLED, NOTHING_RECOVERED, before)).toBe(before)
  expect(crashedOn(KILLED, { ...held, blamed: '5' }, before)).toEqual(['2', '3', '4', '5'])
  expect(crashedOn({ ...KILLED, processed: 1 }, { ...held, blamed: '5' }, before)).toEqual(['5'])
})

test.each([
  [{ code: 'EMFILE' }, / \(too many files are open in this process; raise its limit \(ulimit -n\)\)$/],
  [{ code: 'ESRCH' }, /^it could not be started: spawn failed$/],
  [{}, /^it could not be started: spawn failed$/],
])('a process that could not be started says why, and what to do: %o', (known, reason) => {
  const error = Object.assign(new Error('spawn failed'), known)
  expect(exitReasonOf({ ...KILLED, error })).toMatch(reason)
})

test.each([
  [exited(10), 'its config or code has an error'],
  [exited(4), 'it exited with code 4'],
  [exited(0, { requested: { kind: 'given-up' } }), 'stopped: it was given up'],
  [{ ...KILLED, signal: null }, 'it exited with code null'],
])('the reason of %o is said in words', (exit, reason) => {
  expect(exitReasonOf(exit)).toBe(reason)
})
