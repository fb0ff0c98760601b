import './node-version.ts'

export { defineConfig } from './config/define.ts'
export type {
  AlertOptions,
  ConfigOptions,
  PoolOptions,
  ServerOptions,
  SupervisionTimings,
  SupervisorOptions,
} from './config/types.ts'
export type { BatchContext, BatchItem, BatchOptions, BatchResults } from './define/batch.ts'
export type { BatchEntry, BatchEntryOptions } from './define/batch-entry.ts'
export {
  type Discovery,
  type DiscoveryOptions,
  defineDiscovery,
  type RowOf,
} from './define/discovery.ts'
export type { LimitOptions, RateOptions } from './define/limit.ts'
export type { QueueOptions } from './define/queue.ts'
export {
  defineResource,
  type Resource,
  type ResourceOptions,
  type Resources,
  type Unavailable,
} from './define/resource.ts'
export { defineTask, implement } from './define/task.ts'
export type {
  AttemptEnd,
  Carrier,
  EnqueuedBatch,
  Enqueueing,
  Running,
  RunningStep,
  Telemetry,
  TracedAttempt,
  TracedStep,
} from './define/telemetry.ts'
export type {
  AllOptions,
  ChildOutcome,
  Context,
  Enqueue,
  EnqueueManyOptions,
  EnqueueOptions,
  Handle,
  NodeSqliteTx,
  PostgresTx,
  Register,
  Retry,
  RunOptions,
  SaveCursor,
  SendSignal,
  SendSignalNow,
  SignalSent,
  SignalTarget,
  SqliteTx,
  StepContext,
  StepOptions,
  Stored,
  StoredRetry,
  Task,
  TaskOptions,
  Tx,
  WaitForOptions,
} from './define/types.ts'
export type { DiscoveryManagement, RowQuery } from './discovery/manage.ts'
export type { DiscoveryStats } from './discovery/stats.ts'
export type { Duration } from './duration.ts'
export type {
  ClaimOptions,
  ConnectedOptions,
  Gleaner,
  GleanerOptions,
  PostgresSettings,
  RunningWorker,
  TimingOptions,
  WorkOptions,
} from './engine/gleaner.ts'
export type { HealthManagement, HealthQuery } from './engine/health.ts'
export { openGleaner } from './engine/open.ts'
export {
  BatchGone,
  ChildFailed,
  ClaimLostError,
  type ErrorCode,
  GleanerError,
  InputError,
  PermanentError,
  ResourceError,
  RetryLater,
  SignalTimeout,
  StepTimeout,
  StoppedError,
  StoreError,
  TaskCancelled,
  TaskFailed,
  TaskGone,
  TimeoutError,
  WaitTimeout,
} from './errors.ts'
export type { MaintenanceManagement } from './maintenance/manage.ts'
export { restoreBackup } from './maintenance/restore.ts'
export type { KeepOption, RetentionOptions } from './maintenance/retention.ts'
export type { Explanation } from './model/explanation.ts'
export type { FlowBranch, FlowCounts, FlowKind, FlowNode, FlowRecord, FlowTree } from './model/flow.ts'
export type { ComponentRecord, HealthRecord } from './model/health.ts'
export type { DatabaseUse, Gauges, Metrics } from './model/metrics.ts'
export type { QueueRecord, Strategy } from './model/queue.ts'
export type { Reason } from './model/reasons.ts'
export type { ColumnValue, RowAttempt, RowRecord, RowState } from './model/row.ts'
export type { ScheduleRecord } from './model/schedule.ts'
export { isShortened, type Shortened } from './model/shortened.ts'
export type { StepKind, StepRecord } from './model/step.ts'
export type {
  AttemptRecord,
  Counts,
  Failure,
  FailureKind,
  LogLine,
  Page,
  Progress,
  TaskRecord,
  TaskStatus,
} from './model/task.ts'
export type { Wait, WaitKind } from './model/wait.ts'
export type {
  Health,
  LastExit,
  ProgramHealth,
  WorkerCounters,
  WorkerRecord,
  WorkerStatus,
} from './model/worker.ts'
export type { MetricsOptions } from './observe/metrics.ts'
export type {
  BatchHandle,
  BatchManagement,
  BatchProgress,
  BatchRecord,
  BatchSummary,
  BatchTask,
  StartBatchOptions,
} from './queue/batch.ts'
export type { BulkAnswer, BulkOptions } from './queue/bulk.ts'
export type { PageOptions, QueueManagement, TaskManagement } from './queue/manage.ts'
export type { ScheduleManagement } from './queue/schedules.ts'
export type { TaskQuery } from './queue/task-query.ts'
export type { SqliteLibrary } from './store/ports/database.ts'
export type { Backup, Checkpointed, Finding, Optimized, UpkeepProgress } from './store/ports/maintenance.ts'
export type { DiscoveryRecord } from './store/ports/rows.ts'
export type { Refusal } from './store/ports/tasks.ts'
export type { SqliteSettings } from './store/sqlite/drivers/driver.ts'
export type { Events, TaskEvent } from './worker/attempt/events.ts'
export type { Hooks } from './worker/attempt/hooks.ts'
export type { PulledClaim, PulledClaims } from './worker/claims/pulled-claim.ts'
export type { WorkerManagement } from './worker/manage.ts'
export type {
  HeldItem,
  ResourceSnapshot,
  SourceAverage,
  WorkerSnapshot,
} from './worker/state/snapshot.ts'
