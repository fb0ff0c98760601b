import { z } from 'zod'
import type { EnqueueManyOptions, EnqueueOptions, Task } from '../../define/types.ts'
import { InputError } from '../../errors.ts'
import type { AttemptRecord } from '../../model/task.ts'
import { namesHint } from '../../options.ts'
import { PageBytes } from '../../store/page-bytes.ts'
import { checkRole } from '../protocol/access.ts'
import {
  enqueueManyOptions,
  enqueueOptions,
  id,
  logQuery,
  name,
  signalBody,
  taskFilter,
  taskKeys,
  taskQuery,
} from '../protocol/fields.ts'
import { flowTree } from '../protocol/flow-records.ts'
import { Problem } from '../protocol/problem.ts'
import {
  attempt,
  bulkAnswer,
  enqueued,
  explanation,
  listOf,
  logLine,
  pageSchema,
  signalSent,
  step,
  task,
} from '../protocol/records.ts'
import { type Route, type RouteServices, route } from './route.ts'
import { boundedSteps } from './steps.ts'

/** Tasks of one request: they are checked and inserted while the server does nothing else. */
const BULK_MAX = 1_000
/** Unfinished tasks with one key: the holder, and one that follows it. */
const HOLDERS_MAX = 10
const params = z.strictObject({ id })
const bulk = z.strictObject({
  filter: taskFilter.default({}),
  dryRun: z.boolean().default(false).describe('Only counts the tasks, and changes nothing'),
  all: z
    .boolean()
    .default(false)
    .describe('An empty filter matches every task: it is refused unless this is true'),
})

export const taskRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/tasks',
    role: 'viewer',
    summary:
      'Tasks, page by page. A page may be short, or empty, and still have a `next`. If the server redacts fields, only operators can filter by `error`',
    query: taskQuery,
    answer: pageSchema(task),
    handle({ gleaner, hides }, { query, caller }) {
      if (hides && query.error !== undefined) checkRole(caller, 'operator')
      return gleaner.tasks.list(query)
    },
  }),
  route({
    method: 'post',
    path: '/tasks',
    role: 'operator',
    summary: 'Enqueues a task',
    body: z.strictObject({ name, input: z.unknown().optional(), options: enqueueOptions.default({}) }),
    answer: enqueued,
    status: 201,
    action: 'tasks.enqueue',
    details: ({ name, options }) => ({ name, options }),
    queues: (desk, { body: { name, options } }) => queuesOf(desk, { name, options, keys: [options.key] }),
    async handle(desk, { body }) {
      const enqueue = desk.gleaner.enqueue(
        taskOf(desk, body.name),
        body.input,
        optionsOf<EnqueueOptions>(body.options),
      )
      const { id, created } = await enqueue.catch((error) => Promise.reject(inField('input', error)))
      return { id, created }
    },
  }),
  route({
    method: 'post',
    path: '/tasks/bulk',
    role: 'operator',
    summary: 'Enqueues many tasks of one name',
    body: z.strictObject({
      name,
      inputs: z.array(z.unknown()).max(BULK_MAX),
      keys: taskKeys(BULK_MAX).optional().describe('One for each input'),
      options: enqueueManyOptions.default({}),
    }),
    answer: listOf(enqueued),
    status: 201,
    action: 'tasks.enqueue-many',
    details: ({ name, inputs, options }) => ({ name, count: inputs.length, options }),
    queues: (desk, { body: { name, options, keys = [] } }) => queuesOf(desk, { name, options, keys }),
    async handle(desk, { body: { name, inputs, keys, options } }) {
      if (keys !== undefined && keys.length !== inputs.length)
        throw new Problem(
          'BAD_REQUEST',
          'keys: there must be one for each input',
          'Send one key for each input, or none.',
        )
      let next = 0
      // The engine asks for the keys in the order of the inputs.
      const key = keys === undefined ? {} : { key: () => keys[next++]! }
      const many = desk.gleaner.enqueueMany(taskOf(desk, name), inputs, {
        ...optionsOf<EnqueueManyOptions<unknown>>(options),
        ...key,
      })
      const handles = await many.catch((error) => Promise.reject(inField('inputs', error)))
      return { items: handles.map(({ id, created }) => ({ id, created })) }
    },
  }),
  ...(['retry', 'cancel', 'remove'] as const).map((change) =>
    route({
      method: 'post',
      path: `/tasks/${change}`,
      role: 'operator',
      summary: `${change === 'retry' ? 'Retries' : change === 'cancel' ? 'Cancels' : 'Removes'} all tasks that match a filter`,
      body: bulk,
      answer: bulkAnswer,
      action: `tasks.${change}-all`,
      queues: async (_desk, { body: { filter } }) => (filter.queue === undefined ? null : [filter.queue]),
      tells: true,
      handle: ({ gleaner }, { body: { filter, dryRun, all }, tell }) =>
        gleaner.tasks[`${change}All`](filter, { dryRun, all, onProgress: tell }),
    }),
  ),
  route({
    method: 'get',
    path: '/tasks/:id',
    role: 'viewer',
    summary: 'A task',
    params,
    answer: task,
    handle: async ({ gleaner }, { params: { id } }) => (await gleaner.tasks.get(id)) ?? gone(id),
  }),
  route({
    method: 'delete',
    path: '/tasks/:id',
    role: 'operator',
    summary: 'Removes a task that does not run',
    params,
    answer: null,
    action: 'tasks.remove',
    queues: queueOfTask,
    handle: ({ gleaner }, { params: { id } }) => gleaner.tasks.remove(id),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/logs',
    role: 'viewer',
    summary: 'The log lines of a task, the oldest first',
    params,
    query: logQuery,
    answer: pageSchema(logLine),
    about: taskOfPath,
    handle: ({ gleaner }, { params: { id }, query }) => gleaner.tasks.logs(id, query),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/attempts',
    role: 'viewer',
    summary: 'How each attempt at a task ended. If they exceed 1 MiB, the older ones have no stack',
    params,
    answer: listOf(attempt),
    about: taskOfPath,
    handle: async ({ gleaner }, { params: { id } }) => ({ items: bounded(await gleaner.tasks.attempts(id)) }),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/steps',
    role: 'viewer',
    summary: 'What the steps of a task kept. If the values exceed 1 MiB, the later ones are shortened',
    params,
    answer: listOf(step),
    about: taskOfPath,
    handle: async ({ gleaner }, { params: { id } }) => ({
      items: boundedSteps(await gleaner.tasks.steps(id)),
    }),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/tree',
    role: 'viewer',
    summary:
      'A task with all tasks that it waits for or waited for, and theirs: 200 at most, the nearest first',
    params,
    answer: flowTree,
    about: taskOfPath,
    handle: ({ gleaner }, { params: { id } }) => gleaner.tasks.tree(id),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/explain',
    role: 'viewer',
    summary: 'Why a task does not run: each condition, and what to do',
    params,
    answer: explanation,
    about: taskOfPath,
    handle: ({ gleaner }, { params: { id } }) => gleaner.tasks.explain(id),
  }),
  route({
    method: 'post',
    path: '/tasks/:id/retry',
    role: 'operator',
    summary: 'Runs a finished task again, from the beginning',
    params,
    answer: task,
    action: 'tasks.retry',
    queues: queueOfTask,
    async handle({ gleaner }, { params: { id } }) {
      await gleaner.tasks.retry(id)
      return (await gleaner.tasks.get(id)) ?? gone(id)
    },
  }),
  route({
    method: 'post',
    path: '/tasks/:id/cancel',
    role: 'operator',
    summary: 'Cancels a task: at once if it waits, by aborting its signal if it runs',
    params,
    answer: z.object({ cancelled: z.boolean().describe('False: the task had finished') }),
    action: 'tasks.cancel',
    queues: queueOfTask,
    handle: async ({ gleaner }, { params: { id } }) => ({ cancelled: await gleaner.tasks.cancel(id) }),
  }),
  route({
    method: 'post',
    path: '/tasks/:id/signals',
    role: 'operator',
    summary: 'Sends a signal to a task that waits for it, or will',
    params,
    body: signalBody,
    answer: signalSent,
    action: 'tasks.signal',
    queues: queueOfTask,
    handle: ({ gleaner }, { params: { id }, body: { name, payload } }) => gleaner.signal(id, name, payload),
  }),
]

/** There can be a thousand, each with a stack of 8 000 characters: the last ones keep theirs. */
function bounded(attempts: readonly AttemptRecord[]): AttemptRecord[] {
  const bytes = new PageBytes()
  const shown = attempts.toReversed().map((attempt) => {
    if (attempt.error === null || bytes.hasRoomFor(attempt)) return attempt
    return { ...attempt, error: { ...attempt.error, stack: null } }
  })
  return shown.toReversed()
}

function taskOfPath({ gleaner }: RouteServices, { params: { id } }: { params: { id: string } }) {
  return gleaner.tasks.get(id)
}

/** A task that is gone is no task of the caller's queues either. */
async function queueOfTask({ gleaner }: RouteServices, { params: { id } }: { params: { id: string } }) {
  return [(await gleaner.tasks.get(id))?.queue ?? gone(id)]
}

interface Wish {
  name: string
  options: { queue?: string; whenHeld?: 'keep' | 'replace'; debounce?: string | number }
  keys: readonly (string | undefined)[]
}

/** An enqueue may replace the input of a waiting task that holds its key, and that task may be in another queue. */
async function queuesOf(desk: RouteServices, { name, options, keys }: Wish): Promise<string[]> {
  const queues = [options.queue ?? taskOf(desk, name).queue]
  if (options.whenHeld !== 'replace' && options.debounce === undefined) return queues
  for (const key of keys) if (key !== undefined) queues.push(...(await queuesOfWaiting(desk, name, key)))
  return queues
}

async function queuesOfWaiting({ gleaner }: RouteServices, name: string, key: string): Promise<string[]> {
  const pages = [
    await gleaner.tasks.list({ name, key, status: 'scheduled', limit: HOLDERS_MAX }),
    await gleaner.tasks.list({ name, key, status: 'queued', limit: HOLDERS_MAX }),
  ]
  return pages.flatMap(({ items }) => items.map(({ queue }) => queue))
}

function taskOf({ inside }: RouteServices, name: string): Task {
  const found = inside.registry.tasks.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = inside.registry.tasks.map((one) => one.name)
  throw new Problem('UNKNOWN_TASK', `there is no task ${name}`, namesHint(name, names))
}

/** Whoever speaks JSON has no dates. The engine checks the rest once more. */
function optionsOf<O extends EnqueueOptions | EnqueueManyOptions<unknown>>(options: object): O {
  const { runAfter, ...rest } = options as { runAfter?: string | number }
  if (runAfter === undefined) return rest as O
  const isTime = typeof runAfter === 'string' && runAfter.includes('T')
  return { ...rest, runAfter: isTime ? new Date(runAfter) : runAfter } as O
}

/** The schema speaks of the input; whoever asked has it in a field of his request. */
function inField(field: string, error: unknown): unknown {
  if (!(error instanceof InputError) || error.issues.length === 0) return error
  const { code, message } = error
  const issues = error.issues.map((issue) => ({
    path: [field, issue.path].filter((step) => step !== '').join('.'),
    message: issue.message,
  }))
  return new Problem(code, message, `Look at ${issues.map(({ path }) => path).join(', ')}.`, { issues })
}

function gone(id: string): never {
  throw new Problem(
    'TASK_GONE',
    `there is no task ${id}`,
    'It was removed, or the id belongs to another database.',
  )
}
