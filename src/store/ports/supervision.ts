import type { ProcessIdentity } from '../../process-identity.ts'

/** The part of the contract that supervisors use: who is in office, what he says of his workers, what he is told to do. */
export interface Supervision {
  /** All supervisors that ever ran on this database, with their last report. */
  supervisors(): Promise<SupervisorRow[]>
  /** `replaces`: the term of the leader that this supervisor saw (null: none). Null: another supervisor was faster. */
  takeLeadership(name: string, process: ProcessIdentity, replaces: number | null): Promise<number | null>
  /** Writes the state of its workers, and removes the commands that it has carried out. False: it no longer leads. */
  report(report: SupervisorReport): Promise<boolean>
  /** For every supervisor, or the one of this name; answers to how many. */
  command(command: NewCommand): Promise<number>
  /** In the order they were given. */
  commandsFor(name: string): Promise<SupervisorCommand[]>
}

export interface SupervisorRow {
  name: string
  /** Grows with each supervisor of this name. */
  term: number
  process: ProcessIdentity
  since: number
  /** How long ago it last wrote, by the store's clock. */
  unseenMs: number
  /** It left by itself. */
  left: boolean
  /** JSON, as it was reported. */
  workers: string
}

export interface SupervisorReport {
  name: string
  term: number
  /** JSON: records for others, and what the next supervisor of this name must know. */
  workers: string
  /** The last command that was carried out. */
  handled: string | null
  leaving: boolean
}

/** `revive`: workers that were given up start again; a worker that is paused stays paused. */
export type WorkerAction = 'pause' | 'resume' | 'restart' | 'revive'

export interface NewCommand {
  action: WorkerAction
  /** Null: all its workers. */
  worker: string | null
  supervisor: string | null
}

export interface SupervisorCommand {
  id: string
  action: WorkerAction
  worker: string | null
}
