import type { ProcessIdentity } from '../process-identity.ts'

/** The supervisor of a session, as it is stored. */
export function supervisorText(supervisor: ProcessIdentity | undefined): string | null {
  return supervisor === undefined ? null : JSON.stringify(supervisor)
}

export function supervisorOf(text: string | null): ProcessIdentity | null {
  return text === null ? null : (JSON.parse(text) as ProcessIdentity)
}
