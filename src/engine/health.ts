import { InputError } from '../errors.ts'
import type { ComponentRecord, HealthRecord } from '../model/health.ts'
import type { Page } from '../model/task.ts'
import { HEALTHS } from '../model/worker.ts'
import { checkTypes, declareOptions, refuseUnknown } from '../options.ts'
import { type PageOptions, pageRequest } from '../queue/manage.ts'
import type { HealthFilter, NewHealthNote } from '../store/ports/health.ts'
import type { SessionStore } from '../store/ports/sessions.ts'
import { describeValue } from '../thrown.ts'

const OPTIONS = declareOptions<HealthQuery>('health.history', {
  component: true,
  changes: true,
  since: true,
  until: true,
  limit: true,
  cursor: true,
})

/** Which lines of the history of health to read. */
export interface HealthQuery extends PageOptions {
  /** A worker, or a component of yours. Default: all. */
  component?: string
  /** Only changes of a status. Default false. */
  changes?: boolean
  /** From this time on: milliseconds since 1970, or a `Date`. */
  since?: number | Date
  /** Before this time. */
  until?: number | Date
}

/** The health of your own components, and the history of all health. */
export interface HealthManagement {
  /** The components that monitors of `gleaner/health` report to this database. */
  components(): Promise<ComponentRecord[]>
  /** The earlier health of workers and components, the newest first. */
  history(query?: HealthQuery): Promise<Page<HealthRecord>>
  /** Appends notes to the history. A `HealthMonitor` with `history: gleaner` calls this. */
  record(notes: readonly NewHealthNote[], options: { freshMs: number }): Promise<void>
  /** Removes components from the list. Their history stays. */
  forget(components: readonly string[]): Promise<void>
}

export function healthManagement(store: SessionStore): HealthManagement {
  return {
    components: () => store.components(),
    async history(query = {}) {
      refuseUnknown(query, OPTIONS, 'health.history')
      checkTypes(query, { component: 'string', changes: 'boolean' }, 'health.history')
      const { component, changes, since, until, ...page } = query
      const filter: HealthFilter = {
        component,
        changes,
        since: timeOf(since, 'since'),
        until: timeOf(until, 'until'),
      }
      return store.healthHistory(filter, pageRequest(page))
    },
    async record(notes, { freshMs }) {
      for (const note of notes) checkNote(note)
      await store.noteHealth(notes, freshMs)
    },
    forget: (components) => store.forgetComponents(components),
  }
}

function timeOf(value: number | Date | undefined, what: string): number | undefined {
  const ms = value instanceof Date ? value.getTime() : value
  if (ms === undefined || Number.isSafeInteger(ms)) return ms
  throw new InputError(`${what}: ${describeValue(value)} is not a time`, {
    code: 'BAD_DATE',
    hint: 'Pass a Date, or whole milliseconds since 1970.',
  })
}

function checkNote({ component, status }: NewHealthNote): void {
  if (typeof component === 'string' && component !== '' && HEALTHS.includes(status)) return
  throw new InputError(
    `${describeValue(component)} with ${describeValue(status)} is not the health of a component`,
    {
      code: 'BAD_INPUT',
      hint: `A note has a component and one of these statuses: ${HEALTHS.join(', ')}.`,
    },
  )
}
