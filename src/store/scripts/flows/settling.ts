import type { FlowsSettled } from '../../ports/flows.ts'
import type { ChangingTasks } from '../task-changes.ts'
import type { ResumingTasks } from '../waits.ts'
import type { MakingFlows } from './make.ts'

/** What each database does in its own way when flows go on. */
export interface SettlingFlows extends MakingFlows {
  readonly changing: ChangingTasks
  readonly resuming: ResumingTasks
}

/** What a step did, as far as workers and those who wait for results must know. */
export interface SettleEffect extends FlowsSettled {
  ended: string[]
  queued: boolean
  requested: boolean
}
