import type { FlowRecord, FlowTree, MemberOutcome, OnFailure } from '../../model/flow.ts'
import type { Page } from '../../model/task.ts'
import type { ClaimProof } from './exchange.ts'
import type { NewTask } from './new-task.ts'
import type { PageRequest } from './page.ts'

/** The part of the contract for tasks that wait for other tasks. */
export interface FlowStore {
  /**
   * Enqueues children, keeps the step that waits for them, and proves the claim: one transaction. If the step is kept already, nothing is
   * enqueued. Answers the flow, or why there is none.
   */
  spawn(session: string, children: NewChildren): Promise<SpawnAnswer>
  /** Enqueues tasks that belong together and have no parent. */
  startBatch(batch: NewBatch): Promise<string>
  flow(id: string): Promise<FlowRecord | null>
  /** Those that an item waits for or waited for, the oldest first. */
  flowsOf(item: string): Promise<FlowRecord[]>
  /** How its tasks ended, in the order of their ids. */
  outcomes(flow: string, page: PageRequest & OutcomeFilter): Promise<Page<MemberOutcome>>
  /** The task, and all that it waits for, down to this many tasks. Null: there is no such task. */
  tree(id: string, most: number): Promise<FlowTree | null>
  listBatches(page: PageRequest): Promise<Page<FlowRecord>>
  /** Cancels its unfinished tasks: at once, or a few at a time by the next calls of `settle`. False: there is no such flow. */
  cancelFlow(id: string): Promise<boolean>
  /** A bounded step: hears of tasks that ended, and resumes what waits for them. */
  settle(): Promise<FlowsSettled>
  /** Called when there is something to settle. */
  onNews(listener: () => void): void
}

export interface OutcomeFilter {
  /** Only tasks that ended in another way than completed. */
  unsuccessful?: boolean
}

export interface NewChildren {
  claim: ClaimProof
  /** Of the step. */
  name: string
  number: number
  attempt: number
  startedAt: number
  tasks: readonly NewTask[]
  concurrency: number | null
  onFailure: OnFailure
}

export type SpawnAnswer =
  | { kind: 'spawned'; flow: string; created: number }
  /** An earlier call kept the step. */
  | { kind: 'kept'; flow: string }
  | { kind: 'lost' }
  | { kind: 'too-deep' }
  /** This task waits for the one that would wait for it. */
  | { kind: 'cycle'; task: string }
  /** So many wait for it that a search for a cycle would take too long. */
  | { kind: 'too-many' }

export interface NewBatch {
  name: string
  tasks: readonly NewTask[]
  concurrency: number | null
  /** Enqueued when all of its tasks completed, and when the first one ended in another way. */
  onCompleted: NewTask | null
  onFailed: NewTask | null
}

export interface FlowsSettled {
  /** There is more to do. */
  more: boolean
}
