import type { Context } from '../../define/types.ts'
import type { Failure } from '../../model/task.ts'
import type { Tracing } from '../../observe/tracing.ts'
import type { TaskEvent } from './events.ts'

/** Callbacks for error trackers and tracing. */
export interface Hooks {
  /** Called for each failed attempt, after its commit. `final`: no attempt follows. */
  onFailure?: (failure: Failure, task: TaskEvent & { final: boolean }) => void
  /** Wraps every run. Call `next`, and return or throw what it returns or throws. */
  aroundRun?: (ctx: Context, next: () => Promise<unknown>) => unknown
}

/** All that goes with a run. */
export interface RunHooks extends Hooks, StepHooks {
  tracing?: Tracing
}

/** For a test, which has a time of its own. */
export interface StepHooks {
  /** Waits before a step's function is called again. */
  pause?: (ms: number) => Promise<void>
  /** The run has ended at a step, and its handler is never resumed. */
  left?: (ctx: Context) => void
}
