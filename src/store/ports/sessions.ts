import type { Capabilities } from '../../model/capabilities.ts'
import type { Holdup } from '../../model/holdup.ts'
import type { Unrenewed } from '../../model/lease-clock.ts'
import type { EndCause, EndKnowledge } from '../../model/session.ts'
import type { ProcessIdentity } from '../../process-identity.ts'
import type { HealthBook } from './health.ts'
import type { RenewalPlan } from './renewal.ts'
import type { Supervision } from './supervision.ts'

/** The lives of workers: their leases, their supervisors, and how they are. */
export interface SessionStore extends Supervision, HealthBook {
  openSession(worker: NewSession): Promise<string>
  /** All live sessions, so that a sweeper can tell which workers are gone. */
  liveSessions(): Promise<LiveSession[]>
  /** Ends a session and gives back all it held, in one transaction. Null: it had ended, or was renewed since. */
  endSession(id: string, cause: EndCause, known?: EndKnowledge): Promise<SessionEnd | null>
  /** As every renewal does. Answers the lease clock's time. */
  advanceLeaseClock(leaseMs: number): Promise<number>
  /** How a keeper thread renews sessions on a connection of its own; null where nobody else could see them. */
  renewal(): RenewalPlan | null
  /** Writes down what a live worker does not claim for want of a resource, until it says otherwise. */
  noteHoldups(session: string, holdups: readonly Holdup[]): Promise<void>
}

export interface LiveSession {
  id: string
  worker: string
  process: ProcessIdentity
  supervisor: ProcessIdentity | null
  renewals: number
  unrenewed: Unrenewed
  /** What its worker waits for. */
  holdups: readonly Holdup[]
}

export interface NewSession {
  worker: string
  process: ProcessIdentity
  queues: readonly string[]
  /** The tasks it has code for. */
  names: readonly string[]
  capabilities: Capabilities
  /** The discoveries it works on. */
  discoveries?: readonly string[]
  /** The process that looks after this one, and sees it end. */
  supervisor?: ProcessIdentity
}

export interface SessionEnd {
  returned: number
  /** The one item a crash was charged to. */
  blamed: string | null
  workerBroken: boolean
}
