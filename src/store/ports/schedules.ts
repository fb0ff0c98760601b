import type { Firing, NamedSchedule, ScheduleRecord } from '../../model/schedule.ts'
import type { Enqueued, NewTask } from './new-task.ts'

/** The verbs for what recurs. */
export interface Schedules {
  /** Writes down what recurs: what is new or has changed is planned from now on, anything else stays as it is. */
  planSchedules(schedules: readonly NamedSchedule[]): Promise<void>
  /**
   * Enqueues those of these tasks whose schedule is due, each occurrence once, whoever else asks: the row of the
   * schedule decides by compare-and-set, in the transaction of the insert. Missed ones collapse into one; an
   * occurrence is skipped while the last task of its schedule is unfinished.
   */
  fireSchedules(tasks: readonly NewTask[]): Promise<Firing>
  /** Now, whatever the time. `created: false`: its last task is unfinished. Null: there is no such schedule. */
  triggerSchedule(task: NewTask): Promise<Enqueued | null>
  listSchedules(): Promise<ScheduleRecord[]>
  /** What falls into a pause is not made up for. False: there is no such schedule. */
  setSchedulePaused(name: string, paused: boolean): Promise<boolean>
}
