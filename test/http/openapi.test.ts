import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { ROUTES } from '../../src/http/api.ts'
import { embed, openServer } from './server.ts'

test('the description is valid OpenAPI, and names every route with its parameters', async () => {
  const { get } = await openServer()
  const description = await get('/api/v1/openapi.json')
  expect(await new Validator().validate(description)).toMatchObject({ valid: true })
  const described = Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.keys(operations as object).map((method) => `${method} ${path}`),
  )
  expect(described).toEqual(
    expect.arrayContaining(
      ROUTES.map(({ method, path }) => `${method} /api/v1${path.replaceAll(/:(\w+)/g, '{$1}')}`),
    ),
  )
  const listing = description.paths['/api/v1/tasks'].get
  expect(listing.parameters.find(({ name }: any) => name === 'limit')).toMatchObject({
    in: 'query',
    required: false,
    schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
  })
  expect(description.components.schemas.Task.properties.status.enum).toContain('queued')
  const ids = Object.values(description.paths).flatMap((path) =>
    Object.values(path as Record<string, { operationId: string }>).map(({ operationId }) => operationId),
  )
  expect(new Set(ids).size).toBe(ids.length)
})

test('what is answered is what is described', async () => {
  const { gleaner, post, call } = await openServer()
  const { body } = await post('/api/v1/tasks', {
    name: 'ml.embed',
    input: { path: 'bad' },
    options: { retry: { attempts: 1 } },
  })
  const batch = await gleaner.batch('all', [[embed, { path: 'good' }]])
  await gleaner.work().drained()
  await post('/api/v1/queues/ml/pause')
  const undescribed = []
  for (const { method, path, answer } of ROUTES) {
    if (method !== 'get' || answer === null || path.startsWith('/discoveries/')) continue
    const said = await call(
      `/api/v1${path.replace(':id', path.startsWith('/batches/') ? batch.id : body.id).replace(':name', 'ml')}`,
    )
    const { success, error } = answer.safeParse(said.body)
    if (said.status !== 200 || !success) undescribed.push([path, said.status, error?.issues])
  }
  expect(undescribed).toEqual([])
})
