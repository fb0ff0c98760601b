// A poison row: one photo kills each worker that opens it. After three crashes it is quarantined, and the others continue.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Discovery, defineDiscovery } from '../../src/index.ts' // in your own project: from 'gleaner'
import { execute, tableIn } from './catalogue.ts'

const PHOTOS = 24
const POISON = 13

/** Creates the table at the first run. Each run marks every photo as without tags. */
export async function hangUp(database: string): Promise<void> {
  const table = tableIn(database, 'photos')
  await execute(database, [
    `CREATE TABLE IF NOT EXISTS ${table} (id INTEGER PRIMARY KEY, needs_tags INTEGER NOT NULL, tags TEXT)`,
    `CREATE INDEX IF NOT EXISTS photos_without_tags ON ${table} (id) WHERE needs_tags = 1`,
    `INSERT INTO ${table} (id, needs_tags)
     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${PHOTOS})
     SELECT n, 1 FROM numbers WHERE true ON CONFLICT (id) DO UPDATE SET needs_tags = 1`,
  ])
}

export function tagPhotos(database: string): Discovery {
  return defineDiscovery({
    name: 'photo.tag',
    table: tableIn(database, 'photos'),
    key: 'id',
    where: 'needs_tags = 1',
    async run({ id }, ctx) {
      await sleep(300 + ((id * 53) % 500), undefined, { signal: ctx.signal })
      if (id === POISON) process.kill(process.pid, 'SIGKILL')
      return 'beach, sunset'
    },
    done: (tags) => ({ tags, needs_tags: 0 }),
  })
}
