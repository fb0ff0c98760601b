import type { Capabilities } from '../../model/capabilities.ts'
import type { Unrenewed } from '../../model/lease-clock.ts'
import type { Strategy } from '../../model/queue.ts'
import type { EndCause, EndKnowledge } from '../../model/session.ts'
import type { UnavailableResource } from '../../model/unavailable-resource.ts'
import type { ProcessIdentity } from '../../process-identity.ts'
import type { ClaimProof } from './exchange.ts'
import type { HealthHistoryStore } from './health.ts'
import type { Overrides } from './new-task.ts'
import type { RenewalPlan } from './renewal.ts'
import type { Supervision } from './supervision.ts'
import type { WorkerReportStore } from './worker-reports.ts'

/** The lives of workers: their leases, their supervisors, and how they are. */
export interface SessionStore extends Supervision, HealthHistoryStore, WorkerReportStore {
  openSession(worker: NewSession): Promise<string>
  /** All live sessions, so that a sweeper can tell which workers are gone. */
  liveSessions(): Promise<LiveSession[]>
  /** Ends a session and gives back all it held, in one transaction. Null: it had ended, or was renewed since. */
  endSession(id: string, cause: EndCause, known?: EndKnowledge): Promise<SessionEnd | null>
  /** As every renewal does. Answers the lease clock's time. */
  advanceLeaseClock(leaseMs: number): Promise<number>
  /** Renews the session of a caller that no keeper looks after. `leaseMs`: of this process. False: it has ended. */
  renewSession(id: string, leaseMs: number): Promise<boolean>
  /** What is held under this fence by a live session. Null: the claim is over, or never was. */
  heldClaim(claim: ClaimProof): Promise<HeldClaim | null>
  /** How a keeper thread renews sessions on a connection of its own; null where no other process could see them. */
  renewal(): RenewalPlan | null
  /** Writes down what a live worker does not claim for want of a resource, until it says otherwise. */
  noteUnavailableResources(session: string, unavailable: readonly UnavailableResource[]): Promise<void>
}

export interface LiveSession {
  id: string
  worker: string
  process: ProcessIdentity
  supervisor: ProcessIdentity | null
  renewals: number
  unrenewed: Unrenewed
  /** Its own lease. Null: the lease of the process that sweeps. */
  leaseMs: number | null
  /** The caller that renews it over HTTP; null: a keeper renews it. */
  caller: string | null
  /** What its worker waits for. */
  unavailable: readonly UnavailableResource[]
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
  /** Queues that it serves in another order than the stored one. */
  strategies?: Readonly<Record<string, Strategy>>
  /** The process that looks after this one, and sees it end. */
  supervisor?: ProcessIdentity
  /** It pulls items by hand, and has a lease of its own. */
  pulls?: { leaseMs: number; caller: string | null }
}

/** A task or a row that a live session holds. */
export interface HeldClaim extends ClaimProof {
  session: string
  worker: string
  /** The caller that renews the session over HTTP. Null: a worker, or a process that pulls items by hand. */
  caller: string | null
  /** How long the session lives without a renewal, if it has a lease of its own. */
  leaseMs: number | null
  /** Of the task, or of the discovery. */
  name: string
  /** Null for a row. */
  queue: string | null
  attempt: number
  /** Null for a row: its discovery says so. */
  maxAttempts: number | null
  overrides: Overrides | null
  /** Null: held ahead, and not started. */
  startedAt: number | null
  cancelRequested: boolean
}

export interface SessionEnd {
  returned: number
  /** The one item a crash was charged to. */
  blamed: string | null
  workerBroken: boolean
}
