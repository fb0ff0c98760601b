import { z } from 'zod'
import type { FlowBranch, FlowNode, FlowRecord, FlowTree } from '../../model/flow.ts'
import { TASK_STATUSES } from '../../model/task.ts'
import type { BatchRecord } from '../../queue/batch.ts'
import { failure, maybe, timeField, whole } from './records.ts'

const counted = { total: whole, completed: whole, failed: whole, cancelled: whole, removed: whole }

const flow: z.ZodType<FlowRecord> = z
  .object({
    id: z.string(),
    kind: z.enum(['children', 'after', 'batch']),
    name: z.string(),
    number: whole,
    waiter: maybe(z.string()),
    onFailure: z.enum(['fail', 'collect', 'run', 'cancel']),
    concurrency: maybe(whole),
    ...counted,
    createdAt: timeField,
    resolvedAt: maybe(timeField),
    thenTask: maybe(z.string()),
    catchTask: maybe(z.string()),
  })
  .meta({ id: 'Flow' })

const node: z.ZodType<FlowNode> = z
  .object({
    id: z.string(),
    name: z.string(),
    queue: z.string(),
    status: z.enum([...TASK_STATUSES, 'removed']),
    error: maybe(failure),
  })
  .meta({ id: 'FlowNode' })

const branch: z.ZodType<FlowBranch> = z
  .object({ flow, tasks: z.array(z.lazy(() => flowTree)), more: whole })
  .meta({ id: 'FlowBranch' })

export const flowTree: z.ZodType<FlowTree> = z
  .object({ task: node, parent: maybe(z.string()), flows: z.array(branch) })
  .meta({ id: 'FlowTree' })

export const batch: z.ZodType<BatchRecord> = z
  .object({
    id: z.string(),
    name: z.string(),
    ...counted,
    unfinished: whole,
    concurrency: maybe(whole),
    createdAt: timeField,
    finishedAt: maybe(timeField),
    thenTask: maybe(z.string()),
    catchTask: maybe(z.string()),
  })
  .meta({ id: 'Batch' })
