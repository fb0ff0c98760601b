import type { Holdup } from '../model/holdup.ts'
import type { Unrenewed } from '../model/lease-clock.ts'
import type { ProcessIdentity } from '../process-identity.ts'

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

/** The supervisor of a session, as it is stored. */
export function supervisorText(supervisor: ProcessIdentity | undefined): string | null {
  return supervisor === undefined ? null : JSON.stringify(supervisor)
}

export function supervisorOf(text: string | null): ProcessIdentity | null {
  return text === null ? null : (JSON.parse(text) as ProcessIdentity)
}
