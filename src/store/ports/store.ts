import type { AdminStore } from './admin.ts'
import type { Changes } from './change.ts'
import type { FlowStore } from './flows.ts'
import type { MaintenanceStore } from './maintenance.ts'
import type { RowStore } from './rows.ts'
import type { SessionStore } from './sessions.ts'
import type { StepStore } from './steps.ts'
import type { TaskStore } from './tasks.ts'

/** Counts since the store was opened. */
export interface LockUse {
  readonly writes: number
  /** Of all transactions together. */
  readonly busyMs: number
  /** How often another process had the lock, and how long that took. */
  readonly waits: number
  readonly waitedMs: number
}

/**
 * What the engine asks of a database, as one port for each concern. A room takes only the ports that it needs. SQLite and
 * PostgreSQL stand behind them and pass one conformance suite.
 *
 * Every verb is one transaction, or changes nothing. Writes of a worker prove their claim (`id`, `fence`)
 * and their session; what cannot be proved is refused, not written. Time is the store's: its clock on
 * SQLite, the server's on PostgreSQL. Failures are `StoreError`s; nothing else is thrown.
 */
export interface Store extends Changes {
  /** It works in another process, while this one goes on. */
  readonly remote: boolean
  /** What this process did with the one write lock of the database. Null: it has no such lock. */
  readonly lock: LockUse | null
  readonly tasks: TaskStore
  readonly sessions: SessionStore
  readonly rows: RowStore
  readonly steps: StepStore
  readonly flows: FlowStore
  readonly admin: AdminStore
  readonly maintenance: MaintenanceStore
  close(): Promise<void>
}
