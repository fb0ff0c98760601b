import type { PostgresOptions, SqliteLibrary } from './database.ts'

/** Crosses a thread boundary, so it is plain data. */
export type RenewalPlan =
  | { store: 'sqlite'; path: string; library?: SqliteLibrary }
  | { store: 'postgres'; options: PostgresOptions }

/** One write for all sessions of a process. */
export interface Renewer {
  /** The sessions that are still alive. The others have ended. */
  renew(sessions: readonly string[]): Promise<string[]>
  close(): Promise<void>
}
