import type { Capabilities } from '../../model/capabilities.ts'
import type { ChosenOrders } from '../../model/chosen-order.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { LogLevel, Progress } from '../../model/task.ts'
import type { Overrides } from './new-task.ts'

export interface ClaimProof {
  id: string
  fence: number
}

/** A claim whose handler was started. */
export interface Run extends ClaimProof {
  startedAt: number
}

export interface Claim extends ClaimProof {
  name: string
  queue: string
  input: string | null
  attempt: number
  maxAttempts: number
  overrides: Overrides | null
  key: string | null
  createdAt: number
  /** Claimed to be started at once; otherwise held ahead and reported in `starts` later. */
  started: boolean
  /** To be run alone. */
  suspect: boolean
  /** A rate has counted its start: it starts within that time after the worker asked, or goes back. */
  startWithinMs?: number
}

export interface Exchange {
  session: string
  starts: readonly Run[]
  outcomes: readonly (Run & { outcome: Outcome })[]
  progress: readonly (ClaimProof & Progress)[]
  logs: readonly (ClaimProof & { lines: readonly NewLogLine[] })[]
  want: ClaimRequest | null
  /**
   * Everything this worker knows to hold, to be compared with what the store has in its name: after an exchange whose answer
   * was lost, when the store asks for it (`compare`), and now and then. What only the store knows of goes back; what only
   * the worker knows of is refused.
   */
  holding?: readonly string[]
}

/** Whether there is anything to write, beside the wish for more. */
export function hasChanges({ outcomes, starts, progress, logs, holding }: Exchange): boolean {
  return holding !== undefined || [outcomes, starts, progress, logs].some(({ length }) => length > 0)
}

export interface NewLogLine {
  at: number
  attempt: number
  level: LogLevel
  message: string
  details: string | null
}

/** What a worker may run. Stays the same object for its whole life. */
export interface ClaimAbilities {
  queues: readonly string[]
  /** Tasks this worker has code for; others are left for workers that do. */
  names: readonly string[]
  capabilities: Capabilities
  /** Left out: the stored orders of the queues. */
  orders?: ChosenOrders | undefined
}

export interface ClaimRequest {
  able: ClaimAbilities
  /** How many it can start at once. */
  start: number
  /** How many more it would hold ahead, because they are short. */
  ahead: number
  /** It holds nothing: it may take one suspect, alone. */
  empty: boolean
  /** A caller waits for `drained`: read everything, not only where tasks usually are. */
  thorough?: boolean
  /** Suspects that this worker has crashed on: if it can do nothing but crash, it should show that on others. */
  avoid?: readonly string[]
}

export interface Exchanged {
  claims: Claim[]
  /** Ids whose claim is not ours any more; nothing was written for them. */
  refused: string[]
  /** Ids held by this session whose cancel was requested. */
  cancels: string[]
  /** The session has ended: everything that it held is gone. */
  sessionEnded: boolean
  /** Suspects wait for a worker that is empty. */
  suspectsWaiting: boolean
  /** When the next delayed task of these queues becomes due, if any. */
  nextDueInMs: number | null
  /** Everything is paused; left out when nothing was asked for. */
  paused?: boolean
  /** Tasks that it found and that another worker claimed first. */
  conflicts?: number
  /** Nothing was claimed, but the claim did not look at everything: ask again before you take that for the end. */
  isPart?: boolean
  /** Whatever waits may be held ahead: nothing of it is under a limit. */
  unlimited?: boolean
  /** The server may have lost its last commits. Nothing was claimed: the next exchange has to say what the worker is `holding`. */
  compare?: boolean
}

/** Runs inside the completing transaction. Synchronous on SQLite, where a thenable rolls back. */
export type Effects = (tx: any) => unknown
