import type { PostgresOptions } from '../../ports/database.ts'
import type { Diagnosis } from '../../ports/diagnosis.ts'
import { migrations } from '../migrations/index.ts'
import { OLDEST_SERVER, versionOf } from '../migrations/migrate.ts'
import { quoted } from '../rows/shape.ts'
import { Database } from '../server/database.ts'
import type { Sql } from '../server/sql.ts'

type Trouble = Diagnosis['troubles'][number]

interface Server {
  words: string
  number: number
  /** May it write to the schema, or make it where there is none. */
  may_write: boolean
  standby: boolean
}

export async function diagnosePostgres(options: PostgresOptions): Promise<Diagnosis> {
  const database = new Database({ ...options, poolSize: 2 })
  try {
    const latest = migrations.at(-1)!.version
    const server = await serverOf(database.sql)
    return {
      server: `PostgreSQL ${server.words}`,
      latest,
      version: await versionOf(database.sql, latest),
      troubles: troublesOf(server, database.sql.schema),
      notes: await unsafePath(database),
    }
  } finally {
    await database.close()
  }
}

async function serverOf(sql: Sql): Promise<Server> {
  const row = await sql.row<Server>(
    `SELECT pg_catalog.current_setting('server_version') AS words, pg_catalog.current_setting('server_version_num')::int AS number,
            pg_catalog.pg_is_in_recovery() AS standby,
            coalesce((SELECT pg_catalog.has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1),
                     pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')) AS may_write`,
    [sql.schema],
  )
  return row!
}

function troublesOf({ words, number, may_write, standby }: Server, schema: string): Trouble[] {
  const troubles: Trouble[] = []
  if (number < OLDEST_SERVER)
    troubles.push({ message: `the server is version ${words}`, fix: 'Gleaner needs PostgreSQL 13 or newer.' })
  if (standby)
    troubles.push({ message: 'the server is a standby, which cannot be written', fix: 'Use the primary.' })
  if (!may_write)
    troubles.push({
      message: `this user may not create tables in the schema ${schema}`,
      fix: `Ask its owner to run: GRANT USAGE, CREATE ON SCHEMA ${schema} TO <user>.`,
    })
  return troubles
}

/** Gleaner itself runs no function of such a schema, but the SQL of the app does, and that of discoveries. */
async function unsafePath({ sql, ofUser }: Database): Promise<Trouble[]> {
  const text = 'SELECT pg_catalog.current_schemas(false)::text[] AS path'
  const { path } = (await ofUser.row<{ path: string[] }>(text))!
  const open = await sql.rows<{ name: string }>(
    `SELECT name FROM pg_catalog.unnest($1::text[]) path(name) WHERE pg_catalog.has_schema_privilege('public', name, 'CREATE')`,
    [path],
  )
  const notes = open.map(({ name }) => ({
    message: `every role may create functions in the schema ${name} of the search_path, and unqualified calls in your SQL can run them`,
    fix: `Ask its owner to run: REVOKE CREATE ON SCHEMA ${quoted(name)} FROM PUBLIC;`,
  }))
  if (path.indexOf('pg_catalog') > 0) {
    notes.push({
      message: `the search_path names pg_catalog after ${path[0]}: functions there replace those of the server`,
      fix: 'Remove pg_catalog from the search_path. It then comes first.',
    })
  }
  return notes
}
