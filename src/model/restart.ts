import type { ExitCause } from './exit.ts'

/** When a worker process that ended is started again, and when it is given up. */
export interface RestartPolicy {
  /** The first delay; doubled each time, up to `maxMs`. */
  baseMs: number
  maxMs: number
  /** So many crashes within that time are too many. */
  windowMs: number
  inWindow: number
  /** So many in all are too many, however long it takes. */
  total: number
}

export const RESTART_DEFAULT: RestartPolicy = {
  baseMs: 1_000,
  maxMs: 60_000,
  windowMs: 300_000,
  inWindow: 5,
  total: 20,
}

/** What is remembered of a worker's crashes: by its supervisor, and by the next one. */
export interface RestartState {
  /** When those were that count, since the worker was last well for a whole window. The oldest first. */
  recent: readonly number[]
  total: number
  /** When those were that an item explains; they count after all when the worker turns out to be broken. */
  explained: readonly number[]
  /** Ends in a row for want of the database. */
  away: number
}

export const NO_RESTARTS: RestartState = { recent: [], total: 0, explained: [], away: 0 }

export type RestartDecision = { kind: 'restart'; afterMs: number } | { kind: 'give-up'; reason: string }

/** Of those that an item explains, the ones that are in a row with the one that breaks the worker. */
const EXPLAINED_MAX = 4

export function afterExit(
  policy: RestartPolicy,
  state: RestartState,
  cause: ExitCause,
  now: number,
): { state: RestartState; decision: RestartDecision } {
  switch (cause) {
    case 'asked':
      return { state, decision: restart(0) }
    // Not at once: code that exits after each start must not be started in a hot loop.
    case 'left':
      return { state, decision: restart(delayMs(policy, 0)) }
    case 'explained':
      return {
        state: { ...state, explained: [...state.explained, now].slice(-EXPLAINED_MAX) },
        decision: restart(0),
      }
    case 'database':
      return {
        state: { ...state, away: state.away + 1 },
        decision: restart(delayMs(policy, state.away)),
      }
    case 'configuration':
      return { state, decision: giveUp('its config or code has an error') }
    case 'broken':
      return counted(policy, { ...state, explained: [] }, [...state.explained, now], now)
    case 'unexplained':
      return counted(policy, state, [now], now)
  }
}

/**
 * The cause of an exit was a guess, because the database did not answer. Now the cause is known. The guess is taken back,
 * unless it has been forgotten since.
 */
export function amended(
  policy: RestartPolicy,
  state: RestartState,
  { guess, truth, at }: { guess: ExitCause; truth: ExitCause; at: number },
): { state: RestartState; decision: RestartDecision } {
  const counted = guess === 'unexplained' && state.recent.includes(at)
  const before = {
    ...state,
    recent: counted ? withoutOne(state.recent, at) : state.recent,
    total: counted ? state.total - 1 : state.total,
    explained: guess === 'explained' ? withoutOne(state.explained, at) : state.explained,
  }
  return afterExit(policy, before, truth, at)
}

/** It was healthy for that long. A whole window of it wipes out what counts together; the total stays. */
export function afterHealth(policy: RestartPolicy, state: RestartState, healthyMs: number): RestartState {
  if (healthyMs < policy.windowMs) return state.away === 0 ? state : { ...state, away: 0 }
  return state.recent.length + state.explained.length + state.away === 0
    ? state
    : { ...NO_RESTARTS, total: state.total }
}

/** How many of them are within the window. A clock that was set back makes nobody younger than now. */
export function recentOf(policy: RestartPolicy, state: RestartState, now: number): number {
  return state.recent.filter((at) => Math.min(at, now) > now - policy.windowMs).length
}

function counted(
  policy: RestartPolicy,
  before: RestartState,
  crashes: readonly number[],
  now: number,
): { state: RestartState; decision: RestartDecision } {
  const state = {
    ...before,
    recent: [...before.recent, ...crashes].slice(-Math.max(policy.inWindow, policy.total)),
    total: before.total + crashes.length,
  }
  return { state, decision: decisionOf(policy, state, now) }
}

function decisionOf(policy: RestartPolicy, state: RestartState, now: number): RestartDecision {
  const recent = recentOf(policy, state, now)
  if (recent >= policy.inWindow)
    return giveUp(`it crashed ${recent} times within ${Math.round(policy.windowMs / 1_000)} s`)
  if (state.total >= policy.total) return giveUp(`it crashed ${state.total} times in total`)
  return restart(delayMs(policy, state.recent.length - 1))
}

function withoutOne(times: readonly number[], at: number): number[] {
  const place = times.lastIndexOf(at)
  return times.filter((_, n) => n !== place)
}

function delayMs({ baseMs, maxMs }: RestartPolicy, n: number): number {
  return Math.min(baseMs * 2 ** n, maxMs)
}

function restart(afterMs: number): RestartDecision {
  return { kind: 'restart', afterMs }
}

function giveUp(reason: string): RestartDecision {
  return { kind: 'give-up', reason }
}
