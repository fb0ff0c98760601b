import type { Context } from '../define/types.ts'
import type { Failure } from '../model/task.ts'
import type { Tracing } from '../queue/tracing.ts'
import type { TaskEvent } from './events.ts'

/** For error trackers and tracing. */
export interface Hooks {
  /** Every failed attempt, after it was committed. `final`: it is not tried again. */
  onFailure?: (failure: Failure, task: TaskEvent & { final: boolean }) => void
  /** Wraps every run; must call `next` and return (or throw) what it gives. */
  aroundRun?: (ctx: Context, next: () => Promise<unknown>) => unknown
}

/** All that goes with a run. */
export interface RunHooks extends Hooks {
  tracing?: Tracing
}
