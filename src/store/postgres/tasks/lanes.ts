import { ClaimableLanes } from '../../claimable.ts'
import { isMatch, type Lane, readRequirement, requirementWords } from '../../lane.ts'
import type { Able } from '../../ports/exchange.ts'
import type { LaneFilter } from '../../ports/tasks.ts'
import { LimitBook } from '../limits/gates.ts'
import type { Sql } from '../server/sql.ts'
import { findKeyedLanes, type KeyedLane, keyedWords, makeKeyedLanes } from './keyed-lanes.ts'

type LaneOf = Pick<Lane, 'queue' | 'name' | 'requires'> & { limitKey?: string }

/** Keys that were just made may be forgotten again, by somebody who finds nothing in them. */
const TRIES_MAX = 10

type LaneRow = Pick<Lane, 'id' | 'queue' | 'name'> & { requires: string }

const COLUMNS = 'id, queue, name, requires'

function laneOf(row: LaneRow): Lane {
  return { ...row, requires: readRequirement(row.requires), line: null }
}

/**
 * The lanes as last seen, but for those with a key: there may be many, and they go. The others are only ever added, each
 * in a transaction of its own.
 */
export class LaneBook {
  readonly limits = new LimitBook()
  readonly #sql: Sql
  #lanes = new Map<number, Lane>()
  #highest = 0
  #ids = new Map<string, number>()
  readonly #claimable = new WeakMap<Able, { among: ReadonlyMap<number, Lane>; lanes: readonly Lane[] }>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  known({ queue, name, requires }: LaneOf): number | undefined {
    return this.#ids.get(`${queue}/${name}/${requirementWords(requires)}`)
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
      const base = this.known({ queue, name, requires })!
      keyed.set(keyedWords(base, limitKey), { queue, name, requires, limitKey, base })
    }
    return [...keyed.values()]
  }

  /** In the transaction that inserts them: the lane of each. Those with a key cannot be forgotten before it ends. */
  async idsOf(sql: Sql, tasks: readonly LaneOf[]): Promise<number[]> {
    const only = this.#onlyOne(tasks)
    if (only !== undefined) return tasks.map(() => only)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      await this.learn(tries === 0 ? tasks.filter((task) => this.known(task) === undefined) : tasks)
      const keyed = this.#keyedAmong(tasks)
      const lanes = keyed.length === 0 ? new Map() : await findKeyedLanes(sql, keyed, { locked: true })
      const ids = tasks.map((task) => {
        const base = this.known(task)!
        return task.limitKey === undefined ? base : lanes.get(keyedWords(base, task.limitKey))
      })
      if (ids.every((id) => id !== undefined)) return ids
    }
    throw new Error('a key was forgotten again and again')
  }

  /** The lane of all these, if it is one and known: nobody looks at each of a thousand for that. */
  #onlyOne(tasks: readonly LaneOf[]): number | undefined {
    const [{ queue, name, requires, limitKey }] = tasks as [LaneOf]
    const isSame = (task: LaneOf) =>
      task.queue === queue && task.name === name && task.requires === requires && task.limitKey === undefined
    return limitKey === undefined && tasks.every(isSame) ? this.known({ queue, name, requires }) : undefined
  }

  /** Of its own accord, and never inside a caller's transaction: a lane that was seen once stays. */
  async #make({ queue, name, requires }: LaneOf): Promise<void> {
    const words = requirementWords(requires)
    await this.#sql.run(
      'INSERT INTO gleaner.lanes (queue, name, requires) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [queue, name, words],
    )
    // Not all of them: with thousands of names each new one would read all others.
    const made = await this.#sql.row<{ id: number }>(
      `SELECT id FROM gleaner.lanes WHERE queue = $1 AND name = $2 AND requires = $3 AND limit_key = ''`,
      [queue, name, words],
    )
    this.#ids.set(`${queue}/${name}/${words}`, made!.id)
  }

  async refresh(sql: Sql = this.#sql): Promise<void> {
    const rows = await sql.rows<LaneRow>(`SELECT ${COLUMNS} FROM gleaner.lanes WHERE limit_key = ''`)
    this.#lanes = new Map(rows.map((row) => [row.id, laneOf(row)]))
    this.#highest = Math.max(0, ...this.#lanes.keys())
    this.#ids = new Map(rows.map((row) => [`${row.queue}/${row.name}/${row.requires}`, row.id]))
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

  /** The same question is asked at every claim, so its answer is kept for as long as the lanes are the same. */
  claimable(able: Able): readonly Lane[] {
    const kept = this.#claimable.get(able)
    if (kept?.among === this.#lanes) return kept.lanes
    const claimable = new ClaimableLanes(able, () => 0)
    claimable.add([...this.#lanes.values()])
    const lanes = claimable.ids.map((id) => claimable.lane(id)!)
    this.#claimable.set(able, { among: this.#lanes, lanes })
    return lanes
  }
}
