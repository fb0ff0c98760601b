import { SUPERVISION_TIMINGS } from '../config/check.ts'
import type { SupervisionTimings } from '../config/types.ts'
import { RESTART_DEFAULT, type RestartPolicy } from '../model/restart.ts'
import type { SupervisorSetup } from './contract.ts'

export interface Timings {
  frameMs: number
  staleMs: number
  hungMs: number
  startupMs: number
  drainMs: number
  termMs: number
  graceMs: number
  registryMs: number
  commandsMs: number
  /** How often everybody is looked at. */
  lookMs: number
}

/** Looks between the first missing frame and the word "stale". */
const LOOKS_PER_STALE = 10
const LOOK_MAX_MS = 1_000

export function timingsOf(timings: SupervisionTimings = {}): Timings {
  const {
    backoffMs: _,
    backoffMaxMs: __,
    windowMs: ___,
    ...read
  } = SUPERVISION_TIMINGS.read(timings, 'timings')
  const lookMs = Math.max(1, Math.min(LOOK_MAX_MS, Math.floor(read.staleMs / LOOKS_PER_STALE)))
  return { ...read, lookMs }
}

export function policyOf({ timings = {}, limits = {} }: SupervisorSetup): RestartPolicy {
  const { backoffMs, backoffMaxMs, windowMs } = SUPERVISION_TIMINGS.read(timings, 'timings')
  return {
    baseMs: backoffMs,
    maxMs: backoffMaxMs,
    windowMs,
    inWindow: limits.inWindow ?? RESTART_DEFAULT.inWindow,
    total: limits.total ?? RESTART_DEFAULT.total,
  }
}
