import type { Retention, StepSize } from '../../model/retention.ts'

/** What keeps a database small, sound and safe. */
export interface MaintenanceStore {
  /**
   * Removes finished tasks that need not be kept any more, with all that belongs to them except their `forever` keys:
   * one small transaction, the oldest first.
   */
  pruneTasks(retention: Retention, step: PruneStep): Promise<Pruned>
  /** What is not as it must be; empty when all is well. Gives back what is held out of reach. Takes its time and blocks no other process. */
  check(): Promise<Finding[]>
  /** Tells the planner what the tables look like now, and frees what pruned tasks left. */
  optimize(options: OptimizeOptions): Promise<Optimized>
  /** Brings the write-ahead log into the database, where that is ours to do. */
  checkpoint(): Promise<Checkpointed>
  /** A whole, consistent, verified copy as of now, while others go on. */
  backup(path: string, options: BackupOptions): Promise<Backup>
  /** Those that were made of this database, or failed; the last ones first, and not all that ever were. */
  backups(): Promise<BackupRecord[]>
  /** Checks the backup, calls `leave` so that this process closes the database, and puts the backup in its place. */
  restore(path: string, options: RestoreOptions): Promise<void>
  /** A short step: puts some of what stands in the order of former times in its place. True: there is more. */
  rerank(): Promise<boolean>
  /** A bounded step: removes claims and ledger entries without a reason (session over; row done, gone, edited). Pass `next` on. */
  repairRows(step: { limit: number; after: string | null }): Promise<{ removed: number; next: string | null }>
  /** Bytes on disk: of the database, and of its write-ahead log where that is a file beside it. */
  sizes(): Promise<{ databaseBytes: number; walBytes: number | null }>
  /** The versions that its tables went through, the oldest first. */
  migrations(): Promise<AppliedMigration[]>
}

/** A step that updated the tables of the database. */
export interface AppliedMigration {
  /** The number of the step. */
  version: number
  /** What it changed. */
  name: string
  /** Milliseconds since 1970. */
  appliedAt: number
}

export interface PruneStep {
  /** Tasks at most. */
  limit: number
  /** Where to go on: what the step before answered; 0 at first. */
  afterLane?: number
  /** Unless another process is at it. `held` is what the step before answered. */
  turn?: { held: number | null; forMs: number }
}

export interface Pruned {
  removed: number
  /** There may be others, behind this lane. */
  more: boolean
  afterLane: number
  /** How long the database was at it. */
  workMs: number
  /** The store chooses the size of a step: long enough to pay, and short enough to block no other process. */
  next: StepSize
  /** The turn of this process. Null: it asked for none, or another process has it. */
  turn: number | null
}

/** A problem in the database, with some rows that show it. */
export interface Finding {
  /** What is wrong, as a sentence. */
  what: string
  /** Some of the entries that are wrong. */
  examples: readonly Record<string, unknown>[]
  /** The check has repaired the problem. */
  repaired?: true
}

export interface OptimizeOptions {
  /** Give free space back to the disk. No process can write in the meantime. */
  vacuum?: boolean
}

/** What `optimize` did. */
export interface Optimized {
  /** True: the file was rewritten without its free space. */
  vacuumed: boolean
  /** Free space inside the file, which new tasks will use. Null on PostgreSQL, where it is unknown. */
  freeBytes: number | null
}

/** What a checkpoint did. */
export interface Checkpointed {
  /** False: another process still reads from the log, and the rest follows later. */
  complete: boolean
}

/** How far a maintenance job is. */
export interface UpkeepProgress {
  /** Which part of the job runs. */
  phase: 'copying' | 'verifying'
  /** The progress of this phase, from 0 to 1. */
  fraction: number
}

export interface BackupOptions {
  overwrite: boolean
  onProgress?: (progress: UpkeepProgress) => void
}

/** A backup that was made and verified. */
export interface Backup {
  /** The file. */
  path: string
  /** Its size. */
  bytes: number
  /** The backup holds everything that was acknowledged before this time. */
  startedAt: number
}

/** A backup that was made, or that failed. */
export interface BackupRecord {
  /** The file. */
  path: string
  /** Milliseconds since 1970. */
  startedAt: number
  /** How long it took. */
  tookMs: number
  /** The size of the backup, which was opened and checked. Null: the backup failed. */
  bytes: number | null
  /** Why it failed. Null if it succeeded. */
  error: string | null
}

export interface RestoreOptions {
  leave: () => Promise<void>
  onProgress?: (progress: UpkeepProgress) => void
}
