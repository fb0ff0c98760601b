import type { Change } from '../../change.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { type Native, runSync, type Script, type Statement } from '../../sql/script.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { type Fragment, sql, type Value, verbatim } from '../../sql/sql.ts'
import type { Durability } from './connection.ts'
import type { Statements } from './statements.ts'

interface ScriptServices {
  db: Statements
  now: () => number
  promised: Durability
  read: <T>(look: () => T) => Promise<T>
  write: <T>(durability: Durability, change: () => T) => Promise<T>
  tell: (change: Change) => void
}

export function sqliteScripts({ db, now, promised, read, write, tell }: ScriptServices): Scripts {
  const answer = (step: Statement | Native<Statements>) => answerOf(db, step)
  const drive = <Answer>(script: () => Script<Answer>) => runSync(script(), answer)
  return {
    db: sqliteDialect(now),
    read: (script) => read(() => drive(script)),
    write: (script) => write(promised, () => drive(script)),
    writeCheaply: (script) => write('normal', () => drive(script)),
    tell,
  }
}

/** Inside a transaction that another verb began. */
export function driveOn<Answer>(db: Statements, script: Script<Answer>): Answer {
  return runSync(script, (step) => answerOf(db, step))
}

export function sqliteDialect(now: () => number): Dialect {
  return {
    get now() {
      return sql`${now()}`
    },
    // biome-ignore lint/correctness/useYield: the process has the time, and asks nothing
    *time() {
      return now()
    },
    forUpdate: verbatim(''),
    forUpdateOf: () => verbatim(''),
    oneOf: (values) => sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
  }
}

function answerOf(db: Statements, step: Statement | Native<Statements>): unknown {
  if ('native' in step) return step.native(db)
  const statement = db.sql(textOf(step.sql))
  const values = step.sql.values.map(stored)
  return step.wants === 'rows' ? statement.all(...values) : statement.run(...values).changes
}

function textOf({ texts }: Fragment): string {
  return texts.join('?').replaceAll('gleaner.', 'gleaner_').replaceAll('pg_catalog.', '')
}

/** SQLite has no booleans. */
function stored(value: Value): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}
