import type { EnqueueOptions, SignalSent } from '../../define/types.ts'
import type { DiscoveryManagement } from '../../discovery/manage.ts'
import type { Discovery, Enqueued } from '../../http/wire/types.ts'
import type { MaintenanceManagement } from '../../maintenance/manage.ts'
import type { Alert } from '../../model/alerts.ts'
import type { ComponentRecord } from '../../model/health.ts'
import type { QueueRecord } from '../../model/queue.ts'
import type { WorkerRecord } from '../../model/worker.ts'
import type { QueueManagement, TaskManagement } from '../../queue/manage.ts'
import type { ScheduleManagement } from '../../queue/schedules.ts'
import type { SupervisorRecord } from '../../supervisor/reading.ts'
import type { WorkerManagement } from '../../worker/manage.ts'

/**
 * What commands ask of a Gleaner, wherever it is: the library's own management, on the database (`direct.ts`) or over HTTP
 * (`remote.ts`). No command knows which of them it has.
 */
export interface Operations {
  overview(): Promise<Overview>
  readonly tasks: Omit<TaskManagement, 'counts'>
  readonly queues: QueueManagement
  readonly discoveries: Omit<DiscoveryManagement, 'list' | 'stats'> & { list(): Promise<Discovery[]> }
  readonly schedules: Pick<ScheduleManagement, 'list' | 'pause' | 'resume'> & {
    trigger(name: string): Promise<Enqueued>
  }
  readonly workers: WorkerManagement
  readonly maintenance: Pick<MaintenanceManagement, 'check' | 'prune'>
  /** Names of the tasks that can be enqueued. */
  enqueuable(): Promise<readonly string[]>
  enqueue(name: string, input: unknown, options: EnqueueOptions): Promise<Enqueued>
  /** `item`: the id of a task, or `<discovery>/<key>` of a row. */
  signal(item: string, name: string, payload: unknown): Promise<SignalSent>
  pause(): Promise<void>
  resume(): Promise<void>
}

/** All that `status` and `top` show, and what `--json` prints. */
export interface Overview {
  /** The database, or the server that was asked. Without a password. */
  place: string
  asOf: number
  /** Everything is. */
  paused: boolean
  supervisors: SupervisorRecord[]
  /** Those of programs that call `gleaner.work` themselves have no pool. */
  workers: WorkerRecord[]
  /** Components of yours that a health monitor reports. */
  components: ComponentRecord[]
  queues: QueueRecord[]
  discoveries: Discovery[]
  alerts: Alert[]
}
