import { satisfies } from '../../../model/capabilities.ts'
import { isMatch, type Lane, OWN_LINES_MAX, readRequirement, requirementWords } from '../../lane.ts'
import type { ClaimAbilities } from '../../ports/exchange.ts'
import type { LaneFilter } from '../../ports/tasks.ts'
import { LimitCache } from '../limits/counters.ts'
import type { Sql } from '../server/sql.ts'
import { findKeyedLanes, type KeyedLane, keyedWords, makeKeyedLanes } from './keyed-lanes.ts'
import { OpenLanes } from './open-lanes.ts'

type LaneOf = Pick<Lane, 'queue' | 'name' | 'requires'> & { limitKey?: string }

/** Keys that were just made may be forgotten again, by somebody who finds nothing in them. */
const TRIES_MAX = 10

type LaneRow = Omit<Lane, 'requires'> & { requires: string }

const COLUMNS = 'id, queue, name, requires, line'

/** Where a task waits: its row names both. */
export type LanePlace = Pick<Lane, 'id' | 'line'>

function laneOf(row: LaneRow): Lane {
  return { ...row, requires: readRequirement(row.requires) }
}

/**
 * The lanes as last seen, but for those with a key: there may be many, and they go. The others are only ever added, each
 * in a transaction of its own.
 */
export class LaneCache {
  readonly limits = new LimitCache()
  readonly #sql: Sql
  #lanes = new Map<number, Lane>()
  #highest = 0
  readonly #sizeOfLine = new Map<number, number>()
  #places = new Map<string, LanePlace>()
  #open = new WeakMap<ClaimAbilities, Map<string, OpenLanes>>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  known({ queue, name, requires }: LaneOf): LanePlace | undefined {
    return this.#places.get(`${queue}/${name}/${requirementWords(requires)}`)
  }

  /** Before a transaction: one that holds a connection must not wait for another, which others may hold and wait, too. */
  async learn(tasks: readonly LaneOf[]): Promise<void> {
    for (const task of tasks) if (this.known(task) === undefined) await this.#make(task)
    const keyed = this.#keyedAmong(tasks)
    if (keyed.length === 0) return
    const there = await findKeyedLanes(this.#sql, keyed)
    const missing = keyed.filter(({ base, limitKey }) => !there.has(keyedWords(base, limitKey)))
    if (missing.length > 0) await makeKeyedLanes(this.#sql, missing)
  }

  /** Each once, with the lane it stands beside. */
  #keyedAmong(tasks: readonly LaneOf[]): KeyedLane[] {
    const keyed = new Map<string, KeyedLane>()
    for (const { queue, name, requires, limitKey } of tasks) {
      if (limitKey === undefined) continue
      const base = this.known({ queue, name, requires })!.id
      keyed.set(keyedWords(base, limitKey), { queue, name, requires, limitKey, base })
    }
    return [...keyed.values()]
  }

  /** In the transaction that inserts them: the lane of each. Those with a key cannot be forgotten before it ends. */
  async placesOf(sql: Sql, tasks: readonly LaneOf[]): Promise<LanePlace[]> {
    const only = this.#onlyOne(tasks)
    if (only !== undefined) return tasks.map(() => only)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      await this.learn(tries === 0 ? tasks.filter((task) => this.known(task) === undefined) : tasks)
      const keyed = this.#keyedAmong(tasks)
      const lanes = keyed.length === 0 ? new Map() : await findKeyedLanes(sql, keyed, { locked: true })
      const places = tasks.map((task) => {
        const base = this.known(task)!
        if (task.limitKey === undefined) return base
        const id = lanes.get(keyedWords(base.id, task.limitKey))
        return id === undefined ? undefined : { id, line: null }
      })
      if (places.every((place) => place !== undefined)) return places
    }
    throw new Error('a key was forgotten again and again')
  }

  /** The lane of all these, if it is one and known: nobody looks at each of a thousand for that. */
  #onlyOne(tasks: readonly LaneOf[]): LanePlace | undefined {
    const [{ queue, name, requires, limitKey }] = tasks as [LaneOf]
    const isSame = (task: LaneOf) =>
      task.queue === queue && task.name === name && task.requires === requires && task.limitKey === undefined
    return limitKey === undefined && tasks.every(isSame) ? this.known({ queue, name, requires }) : undefined
  }

  /** Of its own accord, and never inside a caller's transaction: a lane that was seen once stays. */
  async #make({ queue, name, requires }: LaneOf): Promise<void> {
    const words = requirementWords(requires)
    await this.#sql.run(MAKE, [queue, name, words])
    // Not all of them: with thousands of names each new one would read all others.
    const made = await this.#sql.row<LanePlace>(
      `SELECT id, line FROM gleaner.lanes WHERE queue = $1 AND name = $2 AND requires = $3 AND limit_key = ''`,
      [queue, name, words],
    )
    this.#places.set(`${queue}/${name}/${words}`, made!)
  }

  async refresh(sql: Sql = this.#sql): Promise<void> {
    const rows = await sql.rows<LaneRow>(`SELECT ${COLUMNS} FROM gleaner.lanes WHERE limit_key = ''`)
    this.#lanes = new Map(rows.map((row) => [row.id, laneOf(row)]))
    this.#highest = rows.reduce((highest, { id }) => Math.max(highest, id), 0)
    this.#places = new Map(rows.map((row) => [`${row.queue}/${row.name}/${row.requires}`, row]))
    this.#sizeOfLine.clear()
    for (const { line } of rows)
      if (line !== null) this.#sizeOfLine.set(line, (this.#sizeOfLine.get(line) ?? 0) + 1)
    this.#open = new WeakMap()
  }

  /** The last one that is known; 0: none. */
  get highest(): number {
    return this.#highest
  }

  /** Reads them again unless the highest there is is known: they are only ever added. */
  async knowing(highest: number | null, sql: Sql): Promise<void> {
    if (highest !== null && !this.#lanes.has(highest)) await this.refresh(sql)
  }

  async get(id: number, sql: Sql = this.#sql): Promise<Lane> {
    const known = this.#lanes.get(id)
    if (known !== undefined) return known
    return laneOf((await sql.row<LaneRow>(`SELECT ${COLUMNS} FROM gleaner.lanes WHERE id = $1`, [id]))!)
  }

  /** With a key or without. */
  async matching(filter: LaneFilter, sql: Sql = this.#sql): Promise<readonly Lane[]> {
    const rows = await sql.rows<LaneRow>(`SELECT ${COLUMNS} FROM gleaner.lanes`)
    return rows.map(laneOf).filter((lane) => isMatch(lane, filter))
  }

  /** What this worker may claim from now. The same question is asked at every claim, so its answer is kept. */
  open(able: ClaimAbilities, paused: readonly string[] = []): OpenLanes {
    const kept = this.#open.get(able) ?? new Map<string, OpenLanes>()
    this.#open.set(able, kept)
    const words = paused.join('/')
    const known = kept.get(words)
    if (known !== undefined) return known
    const [queues, names] = [new Set(able.queues), new Set(able.names)]
    for (const queue of paused) queues.delete(queue)
    const lanes = [...this.#lanes.values()].filter(
      ({ queue, name, requires }) =>
        queues.has(queue) && names.has(name) && satisfies(requires, able.capabilities),
    )
    const open = new OpenLanes(lanes, this.#sizeOfLine)
    // Of what is paused there are few combinations, but not for ever the same.
    if (kept.size >= PAUSES_MAX) kept.clear()
    kept.set(words, open)
    return open
  }
}

/** Combinations of paused queues that are remembered for a worker. */
const PAUSES_MAX = 8

/**
 * One lane after the other gets its number, so that who knows the highest knows all. The row of the queue's line makes all processes agree
 * on it; how many lanes have none may be a few more, if some are made at the same time.
 */
const MAKE = `WITH turn AS MATERIALIZED (
    SELECT pg_catalog.pg_advisory_xact_lock('gleaner.lanes'::regclass::oid::bigint)
  ), line AS (
    INSERT INTO gleaner.lines (queue) SELECT $1::text FROM turn WHERE (
      SELECT pg_catalog.count(*) FROM (
        SELECT 1 FROM gleaner.lanes WHERE queue = $1 AND limit_key = '' LIMIT ${OWN_LINES_MAX}) l) = ${OWN_LINES_MAX}
    ON CONFLICT (queue) DO UPDATE SET queue = excluded.queue RETURNING id
  )
  INSERT INTO gleaner.lanes (queue, name, requires, line)
  SELECT $1::text, $2::text, $3::text, (SELECT id FROM line) FROM turn ON CONFLICT DO NOTHING`
