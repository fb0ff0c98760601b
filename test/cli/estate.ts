import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { inject } from 'vitest'
import { z } from 'zod'
import { defineTask, type Gleaner, openGleaner } from '../../src/index.ts'
import { checkout, folderWith, GLEANER } from '../config/files.ts'
import { gleaner, type Said, type Setting } from './cli.ts'
import { Journey } from './journey.ts'

export const TOKEN = 'a-long-secret-of-operators'
export const VIEWER = 'only-looking-at-everything'
/** As the config has it. */
export const greet = defineTask({
  name: 'greet',
  queue: 'served',
  retry: { attempts: 1 },
  input: z.object({ name: z.string(), password: z.string().optional() }),
})

/** Takes anything, and nobody runs it. */
export const loose = defineTask({ name: 'loose', queue: 'idle' })

/** How a command gets there. */
export const WAYS = ['direct', 'over HTTP'] as const
export type Way = (typeof WAYS)[number]

/** A project whose `gleaner start` runs, and commands typed beside it. */
export interface Estate {
  folder: string
  app: Gleaner
  url: string
  /** Rows of the table that the discovery is on; those with an odd number fail at once and for good. */
  addRows(count: number): Promise<number[]>
  run(way: Way, ...args: string[]): Promise<Said>
  place(way: Way): Setting
  close(): Promise<void>
}

const config = (table: string) => `
  import { existsSync } from 'node:fs'
  import { defineConfig, defineDiscovery, defineTask } from ${GLEANER}
  import { z } from ${JSON.stringify(join(checkout, 'node_modules/zod/index.js'))}
  const greet = defineTask({
    name: 'greet', queue: 'served', retry: { attempts: 1 },
    input: z.object({ name: z.string(), password: z.string().optional() }),
    async run({ name }, ctx) {
      ctx.log.info('greeting ' + name, { name, password: 'hunter2' })
      if (name.startsWith('/')) {
        await ctx.progress(0.5, 'half way')
        while (!existsSync(name)) await new Promise((resolve) => setTimeout(resolve, 5))
        ctx.log.warn('it is there')
      }
      if (name === 'nobody') throw new Error('there is nobody')
      return { greeting: 'Hello, ' + name, password: 'hunter2' }
    },
  })
  const nightly = defineTask({ name: 'nightly', queue: 'unserved', every: '1d', run: async () => {} })
  const files = defineDiscovery({
    name: 'tag-files', table: '${table}', key: 'id', where: 'tagged = 0', retry: { attempts: 1 },
    run: async ({ id }) => { if (id % 2 === 1) throw new Error('odd') },
    done: () => ({ tagged: 1 }),
  })
  export default defineConfig({
    database: 'sqlite:./app.db', tasks: [greet, nightly], discoveries: [files],
    pools: { main: { processes: 1, queues: ['served'], discoveries: ['tag-files'] } },
    supervisor: { name: 'estate', timings: { commands: 50, registry: 100 } },
    server: { port: 0, token: '${TOKEN}', viewerToken: '${VIEWER}', redact: ['*.password'] },
  })`

interface Ground {
  database: string
  env: NodeJS.ProcessEnv
  table: string
  sql(text: string): Promise<void>
  close(): Promise<void>
}

const GROUNDS = {
  async sqlite(folder: string): Promise<Ground> {
    const path = join(folder, 'app.db')
    const db = new Database(path)
    return {
      database: `sqlite:${path}`,
      env: {},
      table: 'files',
      sql: async (text) => void db.prepare(text).run(),
      close: async () => void db.close(),
    }
  },
  async postgres(): Promise<Ground> {
    const name = randomUUID().replaceAll('-', '')
    const database = `${inject('postgresUrl')}?schema=t_${name}`
    const client = new pg.Client(inject('postgresUrl'))
    await client.connect()
    const table = `public.cli_${name}`
    return {
      database,
      env: { GLEANER_DATABASE: database },
      table,
      sql: async (text) => void (await client.query(text)),
      async close() {
        await client.query(`DROP TABLE ${table}; DROP SCHEMA t_${name} CASCADE`)
        await client.end()
      },
    }
  },
}
export type StoreName = keyof typeof GROUNDS
export const STORES = Object.keys(GROUNDS) as StoreName[]

export async function openEstate(store: StoreName): Promise<Estate> {
  const ends: (() => unknown)[] = []
  const whenOver = (end: () => unknown) => void ends.unshift(end)
  const folder = folderWith({}, whenOver)
  const elsewhere = folderWith({}, whenOver)
  const ground = await GROUNDS[store](folder)
  whenOver(ground.close)
  await ground.sql(`CREATE TABLE ${ground.table} (id INTEGER PRIMARY KEY, tagged INTEGER NOT NULL)`)
  await ground.sql(
    `CREATE INDEX cli_waiting_${randomUUID().slice(0, 8)} ON ${ground.table} (id) WHERE tagged = 0`,
  )
  writeFileSync(join(folder, 'gleaner.config.ts'), config(ground.table))
  const start = new Journey({ cwd: folder, env: ground.env, whenOver }, 'start')
  const url = (await start.hears(/serving (http:\S+)/))[1]!
  await start.hears(/Ctrl-C stops/)
  const app = await openGleaner({ database: ground.database, tasks: [greet, loose] })
  whenOver(() => app.close())
  const place = (way: Way): Setting =>
    way === 'direct'
      ? { cwd: folder, env: ground.env }
      : // Where there is no config at all.
        { cwd: elsewhere, env: { GLEANER_URL: url, GLEANER_TOKEN: TOKEN } }
  let last = 0
  return {
    folder,
    app,
    url,
    place,
    run: (way, ...args) => gleaner(place(way), ...args),
    async addRows(count) {
      const ids = Array.from({ length: count }, (_, i) => last + i + 1)
      last += count
      await ground.sql(
        `INSERT INTO ${ground.table} (id, tagged) VALUES ${ids.map((id) => `(${id}, 0)`).join(', ')}`,
      )
      return ids
    },
    async close() {
      start.signal('SIGTERM')
      await start.ended
      for (const end of ends) await end()
    },
  }
}
