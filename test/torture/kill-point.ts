import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import pg from 'pg'
import { Pipeline } from '../../src/store/postgres/server/pipeline.ts'
import { ServerConnection } from '../../src/store/postgres/server/server-connection.ts'
import { say } from '../journeys/program.ts'
import { holdBackground } from './background.ts'
import { type Gap, GapFinder } from './gaps.ts'
import { sqlite } from './programs/library.ts'

/**
 * Preloaded into a child (`NODE_OPTIONS=--import …`, so that its threads have it, too): reports the statements that
 * the process gives to its database, and kills it at the gap that was asked for. The engine does not know of it.
 *
 * Which statements an operation consists of must not depend on time, or a kill hits another gap than the one that was asked for.
 * So what the process does on its own account is held back until the operation is over (see `holdBackground`), and setting up a
 * connection is no step, because the pool decides when it needs one.
 */
export interface Plan {
  /** The thread whose statements count. `keeper` stands for any thread but the main one. */
  thread: 'main' | 'keeper'
  /** Where to kill. Without it the process lives, and only reports its steps. */
  at?: Gap
  /** The first step takes that long, as on a busy machine: timers become due during the operation. */
  stallMs?: number
}

const plan: Plan | undefined = process.env.GLEANER_KILL_POINT && JSON.parse(process.env.GLEANER_KILL_POINT)

/** Another process may have committed: events of the file system decide when it is asked. EXPLAIN changes nothing. */
const NO_STEP = /^PRAGMA data_version|^EXPLAIN /

let phase: 'before' | 'armed' | 'over' = 'before'
const gaps = new GapFinder()
/** Statements without an answer, and connections that are being opened. */
let underWay = 0

/** From here on, statements are steps. */
export function arm(): void {
  phase = 'armed'
}

/** The operation is over. The gap behind its last step is a place to be killed at, too. */
export function disarm(): void {
  step('(the end)')
  phase = 'over'
}

/** A chain of statements asks the next one as soon as the last one is answered. */
export async function quiet(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) {
    await new Promise(setImmediate)
    if (underWay > 0) turns = 0
  }
}

function isUnderWay(waitedFor: unknown): void {
  underWay += 1
  const done = () => {
    underWay -= 1
  }
  Promise.resolve(waitedFor).then(done, done)
}

function step(sql: string): void {
  if (phase !== 'armed' || plan === undefined || NO_STEP.test(sql)) return
  say('step', { sql })
  const { at, stallMs } = plan
  if (gaps.gap === undefined && stallMs !== undefined) sleep(stallMs)
  gaps.next(sql)
  if (at === undefined || !gaps.isAt(at)) return
  process.kill(process.pid, 'SIGKILL')
  // The kernel may take a moment, in which nothing must happen.
  sleep(Number.POSITIVE_INFINITY)
}

/** The whole thread. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Only of the library that the program uses: to load the other one would make two. */
function watchSqlite(): void {
  if (sqlite.driver === 'node:sqlite') {
    const node = process.getBuiltinModule('node:sqlite')
    watchStatements(node.DatabaseSync, node.StatementSync.prototype)
    watchBackups(node)
    return
  }
  const Database = createRequire(import.meta.url)('better-sqlite3')
  const probe = new Database(':memory:')
  watchStatements(Database, Object.getPrototypeOf(probe.prepare('SELECT 1')))
  watchBackups(Database.prototype)
  probe.close()
}

function watchStatements(database: { prototype: any }, statement: any): void {
  for (const method of ['run', 'get', 'all', 'iterate']) {
    const original = statement[method]
    statement[method] = function (this: { source?: string; sourceSQL: string }, ...parameters: unknown[]) {
      step(this.source ?? this.sourceSQL)
      return original.apply(this, parameters)
    }
  }
  const original = database.prototype.exec
  database.prototype.exec = function (sql: string) {
    step(sql)
    return original.call(this, sql)
  }
}

/** Pages that are copied are no statements. */
function watchBackups(place: any): void {
  const original = place.backup
  place.backup = async function (...parameters: unknown[]) {
    const options = parameters.pop() as { progress: (copied: unknown) => unknown }
    const progress = (copied: unknown) => {
      step('(pages copied)')
      return options.progress(copied)
    }
    const done = await original.call(this, ...parameters, { ...options, progress })
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

/** Every statement passes here, a pool's as well. A journey is one step: it leaves in one piece, or not at all. */
function watchPostgres(): void {
  const connecting = watchConnecting()
  const client = pg.Client.prototype as { query: (...parameters: any[]) => unknown }
  const original = client.query
  client.query = function (...parameters) {
    const [asked] = parameters
    const sql = asked instanceof Pipeline ? partsOf(asked).join(';\n') : (asked.text ?? asked)
    if (sql !== '' && !connecting.has(this)) step(sql)
    const answered = original.apply(this, parameters)
    isUnderWay(asked instanceof Pipeline ? asked.over : answered)
    return answered
  }
}

/** The connections that are being set up. */
function watchConnecting(): WeakSet<object> {
  const connecting = new WeakSet<object>()
  const connection = ServerConnection.prototype as { connect: (...parameters: any[]) => unknown }
  const original = connection.connect
  connection.connect = function (callback) {
    connecting.add(this)
    const connected = (original.call(this) as Promise<unknown>).finally(() => connecting.delete(this))
    isUnderWay(connected)
    if (callback === undefined) return connected
    connected.then(() => callback(null), callback)
  }
  return connecting
}

/** Without what begins and ends its transaction. Of a notification nothing is left: timers decide when it is sent. */
function partsOf({ statements }: Pipeline): string[] {
  return statements
    .map(({ text }) => text)
    .filter((text) => !/^(BEGIN|COMMIT$|SELECT (pg_catalog\.)?set_config)/.test(text))
}

if (plan !== undefined && plan.thread === (isMainThread ? 'main' : 'keeper')) {
  watchSqlite()
  watchPostgres()
  watchFiles()
  holdBackground(() => phase !== 'over')
  // A keeper has no program of ours in it that could say when it begins.
  if (!isMainThread) arm()
}
