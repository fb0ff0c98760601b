import { shown } from '../define/names.ts'
import type { Handle } from '../define/types.ts'
import { InputError } from '../errors.ts'
import type { ScheduleRecord } from '../model/schedule.ts'
import type { Meter } from '../observe/meter.ts'
import { type HandleServices, TaskHandle } from './handle.ts'
import type { Occurrences } from './recurring.ts'
import type { TaskRegistry } from './registry.ts'

/** See, pause and trigger schedules. */
export interface ScheduleManagement {
  /** All schedules, ordered by name. A schedule without a task in any process enqueues nothing, and is listed too. */
  list(): Promise<ScheduleRecord[]>
  /** No process enqueues further occurrences. Tasks that were enqueued before continue. */
  pause(name: string): Promise<void>
  /** Continues with the next occurrence. Occurrences that fell into the pause are skipped. */
  resume(name: string): Promise<void>
  /** Enqueues one occurrence now, even if the schedule is paused. `created: false`: the last task is unfinished, and this is its handle. */
  trigger(name: string): Promise<Handle<unknown>>
}

export function scheduleManagement(
  handles: HandleServices,
  registry: TaskRegistry,
  { tasks }: Occurrences,
  meter: Meter,
): ScheduleManagement {
  const { store } = handles
  const setPaused = async (name: string, paused: boolean) => {
    if (!(await store.admin.setSchedulePaused(String(name), paused))) throw unknown(name)
  }
  return {
    list: () => store.admin.listSchedules(),
    pause: (name) => setPaused(name, true),
    resume: (name) => setPaused(name, false),
    async trigger(name) {
      const task = tasks.find((candidate) => candidate.name === name)
      const answer = task === undefined ? null : await store.admin.triggerSchedule(task)
      if (answer === null) throw unknown(name)
      if (answer.created) meter.enqueued(task!)
      return new TaskHandle(answer.id, answer.created, registry.get(name)!, handles)
    },
  }
}

function unknown(name: string): InputError {
  return new InputError(`there is not a schedule ${shown(name)}`, {
    code: 'UNKNOWN_SCHEDULE',
    hint: 'A schedule has the name of a task with `every`. To trigger it, add that task to the `tasks` of this process.',
  })
}
