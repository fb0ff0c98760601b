import type { Change } from '../../change.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { type Native, one, run, type Script, type Statement } from '../../sql/script.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { type Fragment, sql as statement, verbatim } from '../../sql/sql.ts'
import type { Manner } from './settings.ts'
import type { Sql } from './sql.ts'

interface ScriptServices {
  sql: Sql
  clockMs: () => number | null
  read: <T>(work: () => Promise<T>) => Promise<T>
  write: <T>(work: (sql: Sql) => Promise<T>, manner?: Manner) => Promise<T>
  spread: (change: Change) => void
}

export function postgresScripts({ sql, clockMs, read, write, spread }: ScriptServices): Scripts {
  return {
    db: postgresDialect(clockMs),
    read: (script) => read(() => driveOn(sql, script())),
    write: (script) => write((own) => driveOn(own, script())),
    writeCheaply: (script) => write((own) => driveOn(own, script()), { durable: false }),
    tell: spread,
  }
}

/** On a connection of another verb: inside its transaction, if it is in one. */
export function driveOn<Answer>(sql: Sql, script: Script<Answer>): Promise<Answer> {
  return run(script, (step) => answerOf(sql, step))
}

/** `clockMs`: the clock of a test, or null for the server's. */
export function postgresDialect(clockMs: () => number | null): Dialect {
  const now = () => {
    const ms = clockMs()
    return ms === null ? verbatim('gleaner.now_ms()') : statement`CAST(${ms} AS bigint)`
  }
  return {
    get now() {
      return now()
    },
    *time() {
      return clockMs() ?? (yield* one<{ now: number }>(statement`SELECT gleaner.now_ms() AS now`))!.now
    },
    forUpdate: verbatim('FOR UPDATE'),
    forUpdateOf: (alias) => verbatim(`FOR UPDATE OF ${alias}`),
    oneOf: (values) => statement`= ANY(${values})`,
  }
}

function answerOf(sql: Sql, step: Statement | Native<Sql>): unknown {
  if ('native' in step) return step.native(sql)
  const text = textOf(step.sql)
  return step.wants === 'rows' ? sql.rows(text, step.sql.values) : sql.run(text, step.sql.values)
}

function textOf({ texts }: Fragment): string {
  return texts.reduce((text, next, index) => `${text}$${index}${next}`)
}
