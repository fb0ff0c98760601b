import { z } from 'zod'
import type { EnqueueManyOptions, EnqueueOptions, Task } from '../../define/types.ts'
import { InputError } from '../../errors.ts'
import {
  enqueueManyOptions,
  enqueueOptions,
  id,
  logQuery,
  name,
  taskFilter,
  taskKeys,
  taskQuery,
} from '../fields.ts'
import { Problem } from '../problem.ts'
import { attempt, bulkAnswer, enqueued, explanation, listOf, logLine, pageOf, task } from '../records.ts'
import { type Desk, type Route, route } from '../route.ts'

/** Tasks of one request: they are checked and inserted while the server does nothing else. */
const BULK_MAX = 1_000
const params = z.strictObject({ id })
const bulk = z.strictObject({
  filter: taskFilter.default({}),
  dryRun: z.boolean().default(false).describe('Says how many it would be, and does nothing'),
  all: z
    .boolean()
    .default(false)
    .describe('An empty filter names every task: it is refused unless you say so'),
})

export const taskRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/tasks',
    role: 'viewer',
    summary: 'Tasks, page by page. A page may be short, or empty, and still have a `next`',
    query: taskQuery,
    answer: pageOf(task),
    handle: ({ gleaner }, { query }) => gleaner.tasks.list(query),
  }),
  route({
    method: 'post',
    path: '/tasks',
    role: 'operator',
    summary: 'Enqueues a task',
    body: z.strictObject({ name, input: z.unknown().optional(), options: enqueueOptions.default({}) }),
    answer: enqueued,
    status: 201,
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
    async handle(desk, { body: { name, inputs, keys, options } }) {
      if (keys !== undefined && keys.length !== inputs.length)
        throw new Problem('BAD_REQUEST', 'keys: there must be one for each input', 'Or leave them out.')
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
      summary: `${change === 'retry' ? 'Retries' : change === 'cancel' ? 'Cancels' : 'Removes'} all tasks that a filter names`,
      body: bulk,
      answer: bulkAnswer,
      action: `tasks.${change}-all`,
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
    handle: ({ gleaner }, { params: { id } }) => gleaner.tasks.remove(id),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/logs',
    role: 'viewer',
    summary: 'What a task has logged, from the beginning',
    params,
    query: logQuery,
    answer: pageOf(logLine),
    handle: ({ gleaner }, { params: { id }, query }) => gleaner.tasks.logs(id, query),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/attempts',
    role: 'viewer',
    summary: 'How each attempt at a task ended',
    params,
    answer: listOf(attempt),
    handle: async ({ gleaner }, { params: { id } }) => ({ items: await gleaner.tasks.attempts(id) }),
  }),
  route({
    method: 'get',
    path: '/tasks/:id/explain',
    role: 'viewer',
    summary: 'Why a task does not run: each condition, and what to do',
    params,
    answer: explanation,
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
    async handle({ gleaner }, { params: { id } }) {
      await gleaner.tasks.retry(id)
      return (await gleaner.tasks.get(id)) ?? gone(id)
    },
  }),
  route({
    method: 'post',
    path: '/tasks/:id/cancel',
    role: 'operator',
    summary: 'Cancels what waits, and asks what runs to stop',
    params,
    answer: z.object({ cancelled: z.boolean().describe('False: it had finished') }),
    action: 'tasks.cancel',
    handle: async ({ gleaner }, { params: { id } }) => ({ cancelled: await gleaner.tasks.cancel(id) }),
  }),
]

function taskOf({ inside }: Desk, name: string): Task {
  const found = inside.registry.tasks.find((one) => one.name === name)
  if (found !== undefined) return found
  const known = inside.registry.tasks.map((one) => one.name).join(', ')
  throw new Problem('UNKNOWN_TASK', `there is no task ${name}`, `There are: ${known || 'none'}.`)
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
