import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import Database from 'better-sqlite3'
import pg from 'pg'
import { Journey } from '../../src/store/postgres/server/journey.ts'
import { say } from '../journeys/program.ts'

/**
 * Preloaded into a child (`NODE_OPTIONS=--import …`, so that its threads have it, too): counts the statements that
 * the process gives to its database, and kills it before the one that was asked for. The engine knows nothing of it.
 */
interface Plan {
  /** Which thread's statements count; any thread beside the main one is meant by the other. */
  thread: 'main' | 'keeper'
  /** Killed before this one, from 1. None: the statements are told instead. */
  at?: number
}

const plan: Plan | undefined = process.env.GLEANER_KILL_POINT && JSON.parse(process.env.GLEANER_KILL_POINT)

/**
 * Statements that no operation consists of. Timers decide when the process asks for changes and announces them; the
 * pool decides when it opens a connection, and so when that connection asks which server it reached.
 */
const NO_STEP = /^PRAGMA data_version|^SELECT (pg_catalog\.)?(pg_notify|pg_backend_pid)/

let armed = false
let steps = 0

/** From here on, statements are steps. */
export function arm(): void {
  armed = true
}

/** The operation is over. The gap behind its last step is a place to be killed at, too. */
export function disarm(): void {
  step('(the end)')
  armed = false
}

function step(sql: string): void {
  if (!armed || plan === undefined || NO_STEP.test(sql)) return
  steps += 1
  if (plan.at === undefined) say('step', { sql })
  if (steps !== plan.at) return
  process.kill(process.pid, 'SIGKILL')
  // The kernel may take a moment, in which nothing must happen.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

function watchSqlite(): void {
  const probe = new Database(':memory:')
  const statement = Object.getPrototypeOf(probe.prepare('SELECT 1')) as Record<string, any>
  for (const method of ['run', 'get', 'all', 'iterate']) {
    const original = statement[method]
    statement[method] = function (this: { source: string }, ...parameters: unknown[]) {
      step(this.source)
      return original.apply(this, parameters)
    }
  }
  const original = Database.prototype.exec
  Database.prototype.exec = function (sql: string) {
    step(sql)
    return original.call(this, sql)
  }
  watchBackups()
  probe.close()
}

/** Pages that are copied are no statements. */
function watchBackups(): void {
  const original = Database.prototype.backup
  Database.prototype.backup = async function (path, options) {
    const done = await original.call(this, path, {
      progress(copied) {
        step('(pages copied)')
        return options!.progress(copied)
      },
    })
    step('(all pages copied)')
    return done
  }
}

/** What gives a file its name, or takes it away. */
function watchFiles(): void {
  for (const change of ['fsyncSync', 'linkSync', 'renameSync', 'rmSync'] as const) {
    const original = fs[change] as (...parameters: unknown[]) => void
    Object.assign(fs, {
      [change]: (...parameters: unknown[]) => {
        step(`(${change})`)
        return original(...parameters)
      },
    })
  }
  syncBuiltinESMExports()
}

/** Every statement passes here, a pool's as well; those of a journey together: it leaves in one piece, or not at all. */
function watchPostgres(): void {
  const client = pg.Client.prototype as { query: (...parameters: any[]) => unknown }
  const original = client.query
  client.query = function (...parameters) {
    const [asked] = parameters
    const sql = asked instanceof Journey ? partsOf(asked).join(';\n') : (asked.text ?? asked)
    if (sql !== '') step(sql)
    return original.apply(this, parameters)
  }
}

/** Without what begins and ends its transaction. */
function partsOf({ statements }: Journey): string[] {
  return statements
    .map(({ text }) => text)
    .filter((text) => !/^(BEGIN|COMMIT$|SELECT (pg_catalog\.)?set_config)/.test(text))
}

if (plan !== undefined && plan.thread === (isMainThread ? 'main' : 'keeper')) {
  watchSqlite()
  watchPostgres()
  watchFiles()
  // A keeper has no program of ours in it that could say when it begins.
  if (!isMainThread) arm()
}
