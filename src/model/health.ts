import type { Health } from './worker.ts'

/** One line of the history of health: for people to read, never for decisions. */
export interface HealthEntry {
  /** A worker, or a component of yours. */
  component: string
  /** Its health. */
  status: Health
  /** Null: not a change, but a regular record of all components. */
  changedFrom: Health | null
  /** What it worked on. Null: nothing, or not known. */
  item: string | null
}

/** One entry of the health history. */
export interface HealthRecord extends HealthEntry {
  /** Milliseconds since 1970. */
  at: number
}

/** How long the history is kept, and how many lines of it at most. */
export const HEALTH_KEPT_MS = 7 * 24 * 60 * 60_000
export const HEALTH_LINES_MAX = 200_000

/** A component of yours that a health monitor watches. */
export interface ComponentRecord {
  /** The id under which it was registered. */
  id: string
  /** Its status. `unhealthy` if its process no longer reports it. */
  status: Health
  /** Since when it has this status, in milliseconds since 1970. */
  since: number
  /** What it worked on when it was last reported. */
  item: string | null
  /** When it was last reported. */
  reportedAt: number
  /** True: its process no longer reports it. It has ended, or it hangs. */
  lost: boolean
}

/** A component as its monitor last reported it. */
export interface ReportedComponent
  extends Pick<ComponentRecord, 'id' | 'status' | 'since' | 'item' | 'reportedAt'> {
  /** Without a report for that long, its monitor is gone. */
  freshMs: number
}

/** A component that is lost is listed for a day. */
export const LOST_KEPT_MS = 24 * 60 * 60_000

/** Without a report the status of a component is unknown. A component that failed stays failed. */
export function componentAt({ freshMs, ...reported }: ReportedComponent, now: number): ComponentRecord {
  const lostAt = reported.reportedAt + freshMs
  if (now <= lostAt) return { ...reported, lost: false }
  if (reported.status === 'failed' || reported.status === 'unhealthy') return { ...reported, lost: true }
  return { ...reported, status: 'unhealthy', since: lostAt, lost: true }
}
