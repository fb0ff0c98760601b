import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { inject } from 'vitest'

/** A database of the user's own, as its URL says it, and what its views tell to any SQL client. */
export interface OwnDatabase {
  url: string
  /** Tasks that are scheduled, queued or running. */
  unfinished(): Promise<number>
  remove(): Promise<void>
}

const UNFINISHED = 'SELECT sum(scheduled + queued + running) AS unfinished FROM'

/** In a folder that is removed by whoever made it. */
export function ownFile(folder: string): OwnDatabase {
  const file = join(folder, `${randomUUID()}.db`)
  return {
    url: `sqlite:${file}`,
    async unfinished() {
      const db = new Database(file, { readonly: true, fileMustExist: true })
      const unfinished = db.prepare(`${UNFINISHED} gleaner_queue_depth`).pluck().get()
      db.close()
      return unfinished as number
    },
    async remove() {},
  }
}

/** A schema in the server of this test run. */
export function ownSchema(): OwnDatabase {
  const schema = `q_${randomUUID().replaceAll('-', '')}`
  const query = async (text: string) => {
    const client = new pg.Client({ connectionString: inject('postgresUrl') })
    await client.connect()
    const { rows } = await client.query(text)
    await client.end()
    return rows
  }
  return {
    url: `${inject('postgresUrl')}?schema=${schema}`,
    unfinished: async () => Number((await query(`${UNFINISHED} ${schema}.queue_depth`))[0].unfinished),
    remove: async () => void (await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)),
  }
}
