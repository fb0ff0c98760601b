import type { Health } from './worker.ts'

/** One line of the history of health: for people to read, never for decisions. */
export interface HealthNote {
  /** The worker. */
  component: string
  /** Its health. */
  status: Health
  /** Null: not a change, but a regular record of all components. */
  changedFrom: Health | null
}

/** One entry of the health history. */
export interface HealthRecord extends HealthNote {
  /** Milliseconds since 1970. */
  at: number
}

/** How long the history is kept, and how many lines of it at most. */
export const HEALTH_KEPT_MS = 7 * 24 * 60 * 60_000
export const HEALTH_LINES_MAX = 200_000
