import { expect, test } from 'vitest'
import { checkConfig } from '../../src/config/check.ts'
import {
  defineDiscovery,
  defineResource,
  defineTask,
  type GleanerError,
  implement,
  openGleaner,
} from '../../src/index.ts'
import { openSupervisor } from '../../src/supervisor/supervisor.ts'
import { openTemp } from '../temp-database.ts'

const any = (options: object) => options as never
const run = () => {}
const memory = 'sqlite::memory:'
const rows = { name: 'files', table: 'files', key: 'id', where: 'tagged = 0', done: () => ({ tagged: 1 }) }
const task = defineTask({ name: 'a', run })
const working = async (options: object) => (await openTemp({ tasks: [task] })).work(any(options))
const enqueuing = async (options: object) =>
  (await openTemp({ tasks: [task] })).enqueue(task, undefined, any(options))
const opening = (options: object) => openGleaner(any({ database: memory, ...options }))

test.each([
  ['defineTask', () => defineTask(any({ name: 'a', retries: 5, run })), 'task a', 'retries', 'retry'],
  [
    'its retry',
    () => defineTask(any({ name: 'a', retry: { attempt: 5 } })),
    'task a: retry',
    'attempt',
    'attempts',
  ],
  [
    'its limit',
    () => defineTask(any({ name: 'a', limit: { concurency: 1 } })),
    'task a: limit',
    'concurency',
    'concurrency',
  ],
  [
    'implement',
    () => implement(defineTask({ name: 'a' }), any({ run, use: {} })),
    'implement: task a',
    'use',
    'uses',
  ],
  [
    'defineDiscovery',
    () => defineDiscovery(any({ ...rows, order: 'id' })),
    'discovery files',
    'order',
    'orderBy',
  ],
  ['defineResource', () => defineResource(any({ name: 'm', idle: '5m' })), 'resource m', 'idle', 'idleAfter'],
  ['openGleaner', () => opening({ task: [] }), 'openGleaner', 'task', 'tasks'],
  ['its timings', () => opening({ timings: { leese: '3s' } }), 'timings', 'leese', 'lease'],
  ['its hooks', () => opening({ hooks: { onFailed: run } }), 'hooks', 'onFailed', 'onFailure'],
  [
    'its queues',
    () => opening({ queues: { ml: { concurrent: 1 } } }),
    'queues.ml',
    'concurrent',
    'concurrency',
  ],
  ['its postgres', () => opening({ postgres: { poolsize: 1 } }), 'postgres', 'poolsize', 'poolSize'],
  ['work', () => working({ queue: ['a'] }), 'work', 'queue', 'queues'],
  ['enqueue', () => enqueuing({ runafter: '5m' }), 'enqueue', 'runafter', 'runAfter'],
  ['a supervisor', () => openSupervisor(any({ timings: { graze: 1 } })), 'timings', 'graze', 'grace'],
])(
  'a misspelled option of %s is refused, and the right one is named',
  async (_of, attempt, what, option, meant) => {
    const error = (await Promise.resolve()
      .then(attempt as () => unknown)
      .catch((error) => error)) as GleanerError
    expect(error.message).toContain(`${what} has no option "${option}". Did you mean ${meant}? There are: `)
  },
)

test('an option that is like none is refused without a guess', () => {
  expect(() => defineTask(any({ name: 'a', colour: 'red', run }))).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(/^There are: name, queue, /) }),
  )
})

test('a field of a config that other programs call differently is named', () => {
  expect(() => checkConfig({ database: memory, http: { port: 1 } }, '/app/gleaner.config.ts', {})).toThrow(
    /^http is not an option\. Did you mean server\? There are: database, .*pools, server, supervisor, alerts\.$/,
  )
})
