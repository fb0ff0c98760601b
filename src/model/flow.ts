import type { Failure, FinishedStatus, TaskRecord, TaskStatus } from './task.ts'

/** `children`: a run waits for tasks that it enqueued. `after`: a task waits for other tasks before it runs. `batch`: tasks without a parent. */
export type FlowKind = 'children' | 'after' | 'batch'

/** What follows for the one that waits when a task ends in any other way than completed. */
export type OnFailure = 'fail' | 'collect' | 'run' | 'cancel'

/** How a task of a flow ended. `removed`: it was removed before it ended. */
export type MemberStatus = FinishedStatus | 'removed'

/** How many tasks a flow has, and how many of them ended in each way. */
export interface FlowCounts {
  /** How many there are. */
  total: number
  /** How many completed. */
  completed: number
  /** How many failed. */
  failed: number
  /** How many were cancelled. */
  cancelled: number
  /** How many were removed before they ended. */
  removed: number
}

/** A flow as every reader sees it. Times are in milliseconds since 1970. */
export interface FlowRecord extends FlowCounts {
  /** Identifies the flow in its database. */
  id: string
  /** Why these tasks belong together. */
  kind: FlowKind
  /** The name of the step or of the batch. */
  name: string
  /** From 1: a name that is used again in a run is numbered. */
  number: number
  /** The item that waits: the id of a task, or `<discovery>/<key>` of a row. Null for a batch. */
  waiter: string | null
  /** What follows when one of the tasks ends in another way than completed. */
  onFailure: OnFailure
  /** How many of its tasks are queued at the same time. Null: all of them. */
  concurrency: number | null
  /** When it was made. */
  createdAt: number
  /** When what waited for it went on. Null while it waits. */
  resolvedAt: number | null
  /** The task that runs when all tasks of a batch are completed. Null: not yet enqueued, or there is none. */
  thenTask: string | null
  /** The task that runs when a task of a batch ends in another way. Null: not enqueued, or there is none. */
  catchTask: string | null
}

/** How one task of a flow ended, as it is stored. */
export interface MemberOutcome {
  /** Its place in the call, from 0. */
  position: number
  /** The id of the task. */
  id: string
  /** Null while it is unfinished. */
  status: MemberStatus | null
  /** JSON. */
  result: string | null
  error: Failure | null
}

/** A task with all that it waits for, or waited for. */
export interface FlowTree {
  /** The task. */
  task: FlowNode
  /** The task that waits for this one as its parent. */
  parent: string | null
  /** What it waits for, the oldest first. */
  flows: FlowBranch[]
}

/** A task of a tree. */
export interface FlowNode extends Pick<TaskRecord, 'id' | 'name' | 'queue' | 'error'> {
  /** Where it is in its life. `removed`: it was removed. */
  status: TaskStatus | 'removed'
}

/** Tasks that a task waits for together. */
export interface FlowBranch {
  /** How many there are, and how many ended in which way. */
  flow: FlowRecord
  /** The first ones of its tasks. */
  tasks: FlowTree[]
  /** How many are left out. */
  more: number
}

/** Tasks of one call. */
export const FLOW_TASKS_MAX = 100_000
/** Tasks that one task waits for by `after`. */
export const AFTER_MAX = 1_000
/** A child of a child of a child, and so on. */
export const FLOW_DEPTH_MAX = 100

/** What becomes of the one that waits. */
export type FlowDecision = 'wait' | 'go-on' | 'fail' | 'cancel'

export function unsuccessfulOf({ failed, cancelled, removed }: FlowCounts): number {
  return failed + cancelled + removed
}

export function unfinishedIn(counts: FlowCounts): number {
  return counts.total - counts.completed - unsuccessfulOf(counts)
}

/** The one place that says when a flow is over for the one that waits. A parent goes on at the first failure, and its handler sees the error. */
export function decideFlow(flow: Pick<FlowRecord, 'kind' | 'onFailure'> & FlowCounts): FlowDecision {
  const isOver = unfinishedIn(flow) <= 0
  const hasFailed = unsuccessfulOf(flow) > 0
  if (flow.kind === 'after' && hasFailed && flow.onFailure !== 'run')
    return flow.onFailure as 'fail' | 'cancel'
  if (flow.kind !== 'after' && hasFailed && flow.onFailure === 'fail') return 'go-on'
  return isOver ? 'go-on' : 'wait'
}

/** What a parent leaves behind when it ends: a failed one may be retried, and then needs its children. */
export function endsChildren(parent: FinishedStatus | null): boolean {
  return parent !== 'failed'
}

/** How many more may be queued, of those that are kept back. */
export function roomFor(concurrency: number | null, queued: number, ended: number): number {
  return concurrency === null ? 0 : Math.max(0, concurrency - (queued - ended))
}
