import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ExitCause } from '../../src/model/exit.ts'
import {
  afterExit,
  afterHealth,
  amended,
  NO_RESTARTS,
  RESTART_DEFAULT as policy,
  type RestartState,
  recentOf,
} from '../../src/model/restart.ts'

const MINUTE = 60_000

function exitAll(exits: readonly (readonly [ExitCause, number])[], state: RestartState = NO_RESTARTS) {
  const decisions = []
  for (const [cause, at] of exits) {
    const after = afterExit(policy, state, cause, at)
    state = after.state
    decisions.push(after.decision)
  }
  return { state, decisions, last: decisions.at(-1)! }
}

test('the delay doubles with each crash, and the fifth within five minutes is the last', () => {
  const { decisions } = exitAll([0, 1, 2, 3, 4].map((n) => ['unexplained', n * 1_000]))
  expect(decisions).toEqual([
    { kind: 'restart', afterMs: 1_000 },
    { kind: 'restart', afterMs: 2_000 },
    { kind: 'restart', afterMs: 4_000 },
    { kind: 'restart', afterMs: 8_000 },
    { kind: 'give-up', reason: 'it crashed 5 times within 300 s' },
  ])
})

test('crashes that are far apart end with the twentieth, after delays of a minute at most', () => {
  const { decisions, state } = exitAll(
    Array.from({ length: 20 }, (_, n) => ['unexplained' as const, n * 2 * MINUTE]),
  )
  expect(decisions.slice(0, -1).every(({ kind }) => kind === 'restart')).toBe(true)
  expect(decisions.at(-2)).toEqual({ kind: 'restart', afterMs: MINUTE })
  expect(decisions.at(-1)).toEqual({ kind: 'give-up', reason: 'it crashed 20 times in total' })
  expect(state.total).toBe(20)
})

test('five healthy minutes wipe out what counts together, and nothing less does; the total stays', () => {
  const { state } = exitAll([0, 1, 2, 3].map((n) => ['unexplained', n]))
  expect(recentOf(policy, afterHealth(policy, state, 5 * MINUTE - 1), 10)).toBe(4)
  const well = afterHealth(policy, state, 5 * MINUTE)
  expect(well).toEqual({ ...NO_RESTARTS, total: 4 })
  expect(exitAll([['unexplained', 20]], well).last).toEqual({ kind: 'restart', afterMs: 1_000 })
})

test('a crash that an item explains counts for nothing and waits for nothing', () => {
  const { decisions, state } = exitAll(Array.from({ length: 50 }, (_, n) => ['explained' as const, n]))
  expect(new Set(decisions.map((decision) => JSON.stringify(decision)))).toEqual(
    new Set(['{"kind":"restart","afterMs":0}']),
  )
  expect([state.recent, state.total, state.explained.length]).toEqual([[], 0, 4])
})

test('a worker that crashes on five different items in a row is given up', () => {
  const row = [0, 1, 2, 3].map((n) => ['explained', n] as const)
  const { last, state } = exitAll([...row, ['broken', 4]])
  expect(last).toEqual({ kind: 'give-up', reason: 'it crashed 5 times within 300 s' })
  expect(state.total).toBe(5)
})

test('a crash that was counted because nobody knew of its item is taken back when the database tells of it', () => {
  const { state } = exitAll([
    ['unexplained', 1],
    ['unexplained', 2],
  ])
  const after = amended(policy, state, { guess: 'unexplained', truth: 'explained', at: 1 })
  expect(after.state).toEqual({ recent: [2], total: 1, explained: [1], away: 0 })
  expect(after.decision).toEqual({ kind: 'restart', afterMs: 0 })
})

test('a crash that an item seemed to explain counts once, with those in a row, when the worker turns out to be broken', () => {
  const { state } = exitAll([0, 1, 2, 3].map((n) => ['explained', n]))
  const after = amended(policy, state, { guess: 'explained', truth: 'broken', at: 3 })
  expect(after.state).toEqual({ recent: [0, 1, 2, 3], total: 4, explained: [], away: 0 })
})

test('what was forgiven meanwhile is not taken back as well', () => {
  const { state } = exitAll([['unexplained', 9]])
  const after = amended(policy, state, { guess: 'unexplained', truth: 'explained', at: 1 })
  expect(after.state).toMatchObject({ recent: [9], total: 1 })
})

test('what we asked for never counts', () => {
  const { last, state } = exitAll(Array.from({ length: 50 }, () => ['asked' as const, 0]))
  expect(last).toEqual({ kind: 'restart', afterMs: 0 })
  expect(state).toEqual(NO_RESTARTS)
})

test('a database that is away makes it wait, longer and longer, and never counts', () => {
  const { decisions, state } = exitAll(Array.from({ length: 30 }, () => ['database' as const, 0]))
  expect(decisions.slice(0, 3)).toEqual([
    { kind: 'restart', afterMs: 1_000 },
    { kind: 'restart', afterMs: 2_000 },
    { kind: 'restart', afterMs: 4_000 },
  ])
  expect(decisions.at(-1)).toEqual({ kind: 'restart', afterMs: MINUTE })
  expect([state.total, state.recent]).toEqual([0, []])
  expect(afterHealth(policy, state, 1).away).toBe(0)
})

test('a wrong configuration is given up at once', () => {
  expect(exitAll([['configuration', 0]]).last.kind).toBe('give-up')
})

test('whatever happens, it is given up at the limits and never before, and memory is bounded', () => {
  const deaths = fc.constantFrom<ExitCause>('asked', 'explained', 'broken', 'unexplained', 'database')
  fc.assert(
    fc.property(fc.array(fc.tuple(deaths, fc.nat(10 * MINUTE)), { maxLength: 60 }), (steps) => {
      let state = NO_RESTARTS
      let now = 0
      for (const [death, pauseMs] of steps) {
        now += pauseMs
        const after = afterExit(policy, state, death, now)
        state = after.state
        const tooMany = recentOf(policy, state, now) >= policy.inWindow || state.total >= policy.total
        const counts = death === 'unexplained' || death === 'broken'
        expect(after.decision.kind === 'give-up').toBe(counts && tooMany)
        if (after.decision.kind === 'restart')
          expect(after.decision.afterMs).toBeLessThanOrEqual(policy.maxMs)
        expect(state.recent.length).toBeLessThanOrEqual(policy.total)
        expect(state.explained.length).toBeLessThanOrEqual(4)
      }
    }),
  )
})
