import { z } from 'zod'
import { BatchGone } from '../../errors.ts'
import { id, pageQuery } from '../protocol/fields.ts'
import { batch } from '../protocol/flow-records.ts'
import { pageSchema } from '../protocol/records.ts'
import { type Route, route } from './route.ts'

const params = z.strictObject({ id })

/** Tasks that belong together. */
export const batchRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/batches',
    role: 'viewer',
    summary: 'Batches, the newest first',
    query: pageQuery,
    answer: pageSchema(batch),
    handle: ({ gleaner }, { query }) => gleaner.batches.list(query),
  }),
  route({
    method: 'get',
    path: '/batches/:id',
    role: 'viewer',
    summary: 'How far a batch is',
    params,
    answer: batch,
    async handle({ gleaner }, { params: { id } }) {
      const found = await gleaner.batches.get(id)
      if (found === null) throw new BatchGone(id)
      return found
    },
  }),
  route({
    method: 'post',
    path: '/batches/:id/cancel',
    role: 'operator',
    summary: 'Cancels the unfinished tasks of a batch',
    params,
    answer: null,
    action: 'batch.cancel',
    handle: ({ gleaner }, { params: { id } }) => gleaner.batches.cancel(id),
  }),
]
