import { SUPERVISION_TIMINGS } from '../config/check.ts'
import type { SupervisionTimings } from '../config/types.ts'
import { type Duration, durationMs } from '../duration.ts'
import { RESTART_DEFAULT, type RestartPolicy } from '../model/restart.ts'
import { refuseUnknown } from '../options.ts'
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
  refuseUnknown(timings, SUPERVISION_TIMINGS, 'timings')
  const ms = (name: keyof SupervisionTimings, otherwise: Duration) =>
    durationMs(timings[name] ?? otherwise, `timings.${name}`)
  const staleMs = ms('stale', '10s')
  return {
    frameMs: ms('frame', '5s'),
    staleMs,
    hungMs: ms('hung', '30s'),
    startupMs: ms('startup', '5m'),
    drainMs: ms('drain', '10s'),
    termMs: ms('term', '5s'),
    graceMs: ms('grace', '5s'),
    registryMs: ms('registry', '5s'),
    commandsMs: ms('commands', '1s'),
    lookMs: Math.max(1, Math.min(LOOK_MAX_MS, Math.floor(staleMs / LOOKS_PER_STALE))),
  }
}

export function policyOf({ timings = {}, limits = {} }: SupervisorSetup): RestartPolicy {
  return {
    baseMs: durationMs(timings.backoff ?? RESTART_DEFAULT.baseMs, 'timings.backoff'),
    maxMs: durationMs(timings.backoffMax ?? RESTART_DEFAULT.maxMs, 'timings.backoffMax'),
    windowMs: durationMs(timings.window ?? RESTART_DEFAULT.windowMs, 'timings.window'),
    inWindow: limits.inWindow ?? RESTART_DEFAULT.inWindow,
    total: limits.total ?? RESTART_DEFAULT.total,
  }
}
