import { shown } from '../define/names.ts'
import type { Handle } from '../define/types.ts'
import { InputError } from '../errors.ts'
import type { ScheduleRecord } from '../model/schedule.ts'
import { type HandleOffice, TaskHandle } from './handle.ts'
import type { Meter } from './meter.ts'
import type { Occurrences } from './recurring.ts'
import type { Registry } from './registry.ts'

export interface ScheduleManagement {
  /** By name; also those that are no longer in anybody's code, and therefore stand still. */
  list(): Promise<ScheduleRecord[]>
  /** No occurrence is enqueued any more, by any process. What was enqueued goes on. */
  pause(name: string): Promise<void>
  /** Goes on with the next occurrence; those of the pause are not made up for. */
  resume(name: string): Promise<void>
  /** One now, whatever the time, paused or not. `created: false`: its last task is unfinished, and this is its handle. */
  trigger(name: string): Promise<Handle<unknown>>
}

export function scheduleManagement(
  office: HandleOffice,
  registry: Registry,
  { tasks }: Occurrences,
  meter: Meter,
): ScheduleManagement {
  const { store } = office
  const setPaused = async (name: string, paused: boolean) => {
    if (!(await store.setSchedulePaused(String(name), paused))) throw unknown(name)
  }
  return {
    list: () => store.listSchedules(),
    pause: (name) => setPaused(name, true),
    resume: (name) => setPaused(name, false),
    async trigger(name) {
      const task = tasks.find((candidate) => candidate.name === name)
      const answer = task === undefined ? null : await store.triggerSchedule(task)
      if (answer === null) throw unknown(name)
      if (answer.created) meter.enqueued(task!)
      return new TaskHandle(answer.id, answer.created, registry.get(name)!, office)
    },
  }
}

function unknown(name: string): InputError {
  return new InputError(`there is no schedule ${shown(name)}`, {
    code: 'UNKNOWN_SCHEDULE',
    hint: 'It has the name of a task with `every`; to trigger it, that task must be among `tasks` of this process.',
  })
}
