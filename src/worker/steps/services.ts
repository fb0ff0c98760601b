import type { FlowStore } from '../../store/ports/flows.ts'
import type { StepStore } from '../../store/ports/steps.ts'
import type { ChildTasks } from './children.ts'
import type { Cursors } from './cursors.ts'

/** What the steps of an attempt ask of its worker. */
export interface StepServices {
  readonly store: StepStore
  readonly cursors: Cursors
  readonly flows: FlowStore
  readonly childTasks: ChildTasks
  /** The largest result, in bytes of JSON. */
  readonly bytesMax: number
  /** Of the worker. Null: it is not known to the database. */
  session(): string | null
  /** Waits before a function is called again. */
  pause(ms: number): Promise<void>
  /** An earlier attempt kept steps under these names, and this one did not come to them. */
  unvisited(attempt: { readonly event: object }, names: readonly string[]): void
}
