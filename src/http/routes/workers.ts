import { z } from 'zod'
import { readRegistry } from '../../supervisor/reading.ts'
import { component } from '../protocol/fields.ts'
import { listOf } from '../protocol/records.ts'
import { supervisor, worker } from '../protocol/worker-records.ts'
import { type Route, route } from './route.ts'

const SUMMARIES = {
  pause: 'Pauses workers: running items finish, nothing is claimed, and the processes stay alive',
  resume: 'Resumes workers, and starts workers again that were given up',
  restart: 'Replaces the processes without a gap',
}

export const workerRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/workers',
    role: 'viewer',
    summary: 'Workers of all processes and hosts',
    answer: listOf(worker),
    handle: async ({ gleaner }) => ({ items: await gleaner.workers.list() }),
  }),
  route({
    method: 'get',
    path: '/supervisors',
    role: 'viewer',
    summary: 'Supervisors: where they run, and since when',
    answer: listOf(supervisor),
    handle: async ({ inside }) => ({ items: (await readRegistry(inside.store)).supervisors }),
  }),
  ...(['pause', 'resume', 'restart'] as const).flatMap((verb) => [
    route({
      method: 'post',
      path: `/workers/${verb}`,
      role: 'operator',
      summary: `All supervised workers. ${SUMMARIES[verb]}`,
      answer: null,
      action: `workers.${verb}-all`,
      handle: ({ gleaner }) => gleaner.workers[verb](),
    }),
    route({
      method: 'post',
      path: `/workers/:id/${verb}`,
      role: 'operator',
      summary: `One worker. ${SUMMARIES[verb]}`,
      params: z.strictObject({ id: component }),
      answer: null,
      action: `workers.${verb}`,
      handle: ({ gleaner }, { params: { id } }) => gleaner.workers[verb](id),
    }),
  ]),
]
