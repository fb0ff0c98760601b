import { z } from 'zod'
import { rangeStart } from '../../model/metrics-history.ts'
import { ROW_STATES } from '../../model/row.ts'
import { rowHistoryOf } from '../../model/row-history.ts'
import { allDiscoveries, withStats } from '../protocol/all-discoveries.ts'
import { bodyKey, changedKey, name, page, rangeQuery, rowKey, signalBody } from '../protocol/fields.ts'
import { rowHistory } from '../protocol/insight-records.ts'
import { Problem } from '../protocol/problem.ts'
import { discovery, explanation, listOf, pageSchema, row, signalSent, step } from '../protocol/records.ts'
import { type Route, route } from './route.ts'
import { boundedSteps } from './steps.ts'

const params = z.strictObject({ name })
const rowParams = z.strictObject({ name, key: rowKey })
const changedParams = z.strictObject({ name, key: changedKey })
const rowBody = z.strictObject({ key: bodyKey })

export const discoveryRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/discoveries',
    role: 'viewer',
    summary: 'Discoveries, with the number of rows in each state and their rates',
    answer: listOf(discovery),
    handle: async ({ gleaner }) => ({ items: await allDiscoveries(gleaner) }),
  }),
  route({
    method: 'get',
    path: '/discoveries/:name',
    role: 'viewer',
    summary: 'A discovery',
    params,
    answer: discovery,
    async handle({ gleaner }, { params: { name } }) {
      const record = (await gleaner.discoveries.list()).find((one) => one.name === name)
      if (record === undefined) throw unknown(name)
      return withStats(gleaner, record)
    },
  }),
  route({
    method: 'get',
    path: '/discoveries/:name/history',
    role: 'viewer',
    summary: 'How many rows arrived, completed and waited in the last hour, day or week, step by step',
    params,
    query: rangeQuery,
    answer: rowHistory,
    async handle({ gleaner, inside }, { params: { name }, query: { range } }) {
      if (!(await gleaner.discoveries.list()).some((one) => one.name === name)) throw unknown(name)
      const now = Date.now()
      return rowHistoryOf(await inside.store.admin.readLevels(name, now - rangeStart(range, now)), range, now)
    },
  }),
  route({
    method: 'get',
    path: '/discoveries/:name/rows',
    role: 'viewer',
    summary: 'Rows that need work, in the order of their keys',
    params,
    query: z.strictObject({ state: z.enum(ROW_STATES).optional(), ...page }),
    answer: pageSchema(row),
    handle: ({ gleaner }, { params: { name }, query }) => gleaner.discoveries.rows(name, query),
  }),
  route({
    method: 'get',
    path: '/discoveries/:name/rows/:key',
    role: 'viewer',
    summary:
      'A row: one that needs no work has the state `ineligible`, and 404 means that the table has no such row',
    params: rowParams,
    answer: row,
    handle: async ({ gleaner }, { params: { name, key } }) =>
      (await gleaner.discoveries.row(name, key)) ?? noRow(name),
  }),
  route({
    method: 'get',
    path: '/discoveries/:name/rows/:key/steps',
    role: 'viewer',
    summary: 'What the steps of a row kept. If the values exceed 1 MiB, the later ones are shortened',
    params: rowParams,
    answer: listOf(step),
    about: ({ gleaner }, { params: { name, key } }) => gleaner.discoveries.row(name, key),
    handle: async ({ gleaner }, { params: { name, key } }) => ({
      items: boundedSteps(await gleaner.discoveries.steps(name, key)),
    }),
  }),
  route({
    method: 'get',
    path: '/discoveries/:name/rows/:key/explain',
    role: 'viewer',
    summary: 'Why a row is not worked on: each condition, and what to do',
    params: rowParams,
    answer: explanation,
    about: ({ gleaner }, { params: { name, key } }) => gleaner.discoveries.row(name, key),
    handle: ({ gleaner }, { params: { name, key } }) => gleaner.discoveries.explain(name, key),
  }),
  route({
    method: 'post',
    path: '/discoveries/:name/rows/retry',
    role: 'operator',
    summary: 'Makes a row that backs off or is quarantined eligible at once',
    params,
    body: rowBody,
    answer: null,
    action: 'discoveries.retry',
    target: ({ key }) => key,
    handle: ({ gleaner }, { params: { name }, body: { key } }) => gleaner.discoveries.retry(name, key),
  }),
  route({
    method: 'post',
    path: '/discoveries/:name/rows/release',
    role: 'operator',
    summary: 'Releases a row from quarantine',
    params,
    body: rowBody,
    answer: z.object({ released: z.int() }),
    action: 'discoveries.release',
    target: ({ key }) => key,
    handle: async ({ gleaner }, { params: { name }, body: { key } }) => ({
      released: await gleaner.discoveries.release(name, key),
    }),
  }),
  route({
    method: 'post',
    path: '/discoveries/:name/rows/signals',
    role: 'operator',
    summary: 'Sends a signal to a row that waits for it, or will',
    params,
    body: signalBody.extend(rowBody.shape),
    answer: signalSent,
    action: 'discoveries.signal',
    target: ({ key }) => key,
    handle: ({ gleaner }, { params, body: { key, name, payload } }) =>
      gleaner.signal({ discovery: params.name, row: key }, name, payload),
  }),
  route({
    method: 'post',
    path: '/discoveries/:name/rows/:key/retry',
    role: 'operator',
    summary: 'The same as rows/retry with the key in the body',
    deprecated: true,
    params: changedParams,
    answer: null,
    action: 'discoveries.retry',
    handle: ({ gleaner }, { params: { name, key } }) => gleaner.discoveries.retry(name, key),
  }),
  route({
    method: 'post',
    path: '/discoveries/:name/rows/:key/release',
    role: 'operator',
    summary: 'The same as rows/release with the key in the body',
    deprecated: true,
    params: changedParams,
    answer: z.object({ released: z.int() }),
    action: 'discoveries.release',
    handle: async ({ gleaner }, { params: { name, key } }) => ({
      released: await gleaner.discoveries.release(name, key),
    }),
  }),
  route({
    method: 'post',
    path: '/discoveries/:name/release',
    role: 'operator',
    summary: 'Releases all rows from quarantine',
    params,
    answer: z.object({ released: z.int() }),
    action: 'discoveries.release-all',
    handle: async ({ gleaner }, { params: { name } }) => ({
      released: await gleaner.discoveries.release(name),
    }),
  }),
  ...(['pause', 'resume'] as const).map((verb) =>
    route({
      method: 'post',
      path: `/discoveries/:name/${verb}`,
      role: 'operator',
      summary:
        verb === 'pause'
          ? 'Pauses the discovery: no rows are claimed, and running rows continue'
          : 'Resumes the discovery',
      params,
      answer: null,
      action: `discoveries.${verb}`,
      handle: ({ gleaner }, { params: { name } }) => gleaner.discoveries[verb](name),
    }),
  ),
]

function noRow(name: string): never {
  throw new Problem(
    'ROW_GONE',
    `the table of ${name} has no row with this key`,
    'Check the key. A key of several columns is a JSON array.',
  )
}

function unknown(name: string): Problem {
  return new Problem('UNKNOWN_DISCOVERY', `there is no discovery ${name}`, null)
}
