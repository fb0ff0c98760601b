import type { ActionRecord, NewAction } from '../../model/action.ts'
import type { Page } from '../../model/task.ts'
import type { PageRequest } from './page.ts'

/** What operators asked for, for others to read later. It is only ever added to: the database itself refuses anything else. */
export interface Actions {
  /** On disk when it answers, so that no change goes unrecorded. */
  noteAction(action: NewAction): Promise<void>
  /** The last first. */
  listActions(page: PageRequest): Promise<Page<ActionRecord>>
}
