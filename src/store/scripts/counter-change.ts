import type { FinishedStatus } from '../../model/task.ts'

/** A counter of a lane goes up or down by one. */
export interface CounterChange {
  lane: number
  counter: 'scheduled' | 'suspended' | FinishedStatus
  by: 1 | -1
  /** The task waits in its lane now. */
  arrived?: boolean
}
