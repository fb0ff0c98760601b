/**
 * The time that counts against leases. The database keeps it, and every renewal advances it. It stands still while
 * nobody can renew: a full disk, a locked file, a sleeping machine or a clock that was set ends no session.
 */
export interface LeaseClock {
  timeMs: number
  /** What the store's clock showed when the lease clock was last advanced. */
  at: number
}

/** How long a session has not been renewed. */
export interface Unrenewed {
  /** From its last renewal to the last advance of the lease clock. */
  countedMs: number
  /** From that advance until now, by the store's clock, which may have been set in between. */
  sinceMs: number
}

/** Sessions are renewed three times in a lease: a longer step means that renewals were not possible. */
const STEP_MAX_PER_LEASE = 1 / 2
/** A longer step still counts a little, so that a lease also ends where all processes live for a short time. */
const GAP_PER_LEASE = 1 / 10

/** The lease clock, advanced to `now`. */
export function advanced({ timeMs, at }: LeaseClock, now: number, leaseMs: number): LeaseClock {
  return { timeMs: timeMs + counted(now - at, leaseMs), at: now }
}

export function hasExpired({ countedMs, sinceMs }: Unrenewed, leaseMs: number): boolean {
  return countedMs + counted(sinceMs, leaseMs) >= leaseMs
}

function counted(stepMs: number, leaseMs: number): number {
  // The clock was set back.
  if (stepMs < 0) return 0
  return Math.floor(stepMs <= leaseMs * STEP_MAX_PER_LEASE ? stepMs : leaseMs * GAP_PER_LEASE)
}
