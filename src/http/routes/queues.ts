import { z } from 'zod'
import { name } from '../protocol/fields.ts'
import { enqueued, listOf, queue } from '../protocol/records.ts'
import { type Route, route } from './route.ts'

const params = z.strictObject({ name })

export const queueRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/queues',
    role: 'viewer',
    summary: 'Queues, with the number of tasks in each status',
    answer: listOf(queue),
    handle: async ({ gleaner }) => ({ items: await gleaner.queues.list() }),
  }),
  ...(['pause', 'resume'] as const).flatMap((verb) => [
    route({
      method: 'post',
      path: `/queues/:name/${verb}`,
      role: 'operator',
      summary:
        verb === 'pause'
          ? 'Pauses the queue: nothing is claimed from it, and running tasks continue'
          : 'Resumes the queue',
      params,
      answer: null,
      action: `queues.${verb}`,
      queues: async (_desk, { params: { name } }) => [name],
      handle: ({ gleaner }, { params: { name } }) => gleaner.queues[verb](name),
    }),
    route({
      method: 'post',
      path: `/${verb}`,
      role: 'operator',
      summary:
        verb === 'pause'
          ? 'Pauses everything: no process claims anything'
          : 'Resumes everything that was paused this way',
      answer: null,
      action: verb,
      handle: ({ gleaner }) => gleaner[verb](),
    }),
    route({
      method: 'post',
      path: `/schedules/:name/${verb}`,
      role: 'operator',
      summary:
        verb === 'pause'
          ? 'Pauses the schedule: no occurrence is enqueued'
          : 'Resumes the schedule with its next occurrence',
      params,
      answer: null,
      action: `schedules.${verb}`,
      handle: ({ gleaner }, { params: { name } }) => gleaner.schedules[verb](name),
    }),
  ]),
  route({
    method: 'post',
    path: '/schedules/:name/trigger',
    role: 'operator',
    summary: 'Enqueues one occurrence now',
    params,
    answer: enqueued,
    action: 'schedules.trigger',
    async handle({ gleaner }, { params: { name } }) {
      const { id, created } = await gleaner.schedules.trigger(name)
      return { id, created }
    },
  }),
]
