import { join } from 'node:path'
import { expect } from 'vitest'
import { until } from '../until.ts'
import { pool, test } from './estate.ts'
import { FILES, files } from './rows.ts'

const config = join(import.meta.dirname, 'programs/rows-config.ts')
const pools = [pool({ queues: undefined, discoveries: ['files'] })]

test('a row whose worker is killed is worked on again at once', async ({ estate }) => {
  const db = estate.place.connect()
  db.exec(`${FILES}; INSERT INTO files (id, what) VALUES (1, 'kill')`)
  // A pool that names neither queues nor discoveries serves all of the config.
  await estate.supervise({ config, pools: [pool({ queues: undefined, discoveries: [], processes: 2 })] })
  const first = await estate.hears('running')
  await estate.hears('running', ({ attempt, pid }) => attempt === 2 && pid !== first.pid)
  await until('it is done', () => db.prepare('SELECT done FROM files').pluck().get() === 1)
})

test('a row whose handler blocks beyond its time-out has timed out, and the next row is worked on', async ({
  estate,
}) => {
  const db = estate.place.connect()
  db.exec(`${FILES}; INSERT INTO files (id, what) VALUES (1, 'block'), (2, 'quick')`)
  const supervisor = await estate.supervise({ config, pools, retryAfterMs: () => 3_600_000 })
  await estate.logged('a handler ran past its time-out')
  await until(
    'the other one is done',
    () => db.prepare('SELECT done FROM files WHERE id = 2').pluck().get() === 1,
  )
  const gleaner = await estate.place.open({ discoveries: [files] })
  const { items } = await gleaner.discoveries.rows('files')
  expect(items).toMatchObject([
    { key: '1', state: 'backing-off', attempts: 1, crashes: 0, error: { kind: 'timeout' } },
  ])
  expect(supervisor.workers()).toMatchObject([{ restarts: { total: 0 } }])
})
