import { scopeWords } from '../../../model/limit.ts'
import type { Able, ClaimProof, LaneFilter } from '../../contract.ts'
import { isMatch, type Lane, mayTake, readRequirement, requirementWords } from '../../lane.ts'
import { gateScope } from '../../limit-row.ts'
import type { Statements } from '../file/statements.ts'
import { LimitBook } from '../limits/gates.ts'
import type { Tally } from './tally.ts'

/** Batches, of which few have anything left that runs. Of the others the rows tell. */
const REMEMBERED_MAX = 100

/** In `limit_key`, which is never empty otherwise. */
const NO_KEY = ''

/** What decides about a task's lane. */
type LaneWords = Pick<Lane, 'queue' | 'name' | 'requires'> & { limitKey?: string }

export function laneId(db: Statements, task: LaneWords): number {
  const { queue, name, limitKey = NO_KEY } = task
  const found = db
    .scalar('SELECT id FROM gleaner_lanes WHERE queue = ? AND name = ? AND requires = ? AND limit_key = ?')
    .get(queue, name, requirementWords(task.requires), limitKey) as number | undefined
  return found ?? (limitKey === NO_KEY ? newLane(db, task, limitKey, null) : newKeyedLane(db, task, limitKey))
}

function newLane(
  db: Statements,
  { queue, name, requires }: LaneWords,
  limitKey: string,
  keyGate: number | null,
): number {
  return db
    .scalar(`INSERT INTO gleaner_lanes (queue, name, requires, limit_key, key_gate, queue_gate)
             VALUES (?, ?, ?, ?, ?, (SELECT id FROM gleaner_gates WHERE scope = ?)) RETURNING id`)
    .get(queue, name, requirementWords(requires), limitKey, keyGate, scopeWords({ queue })) as number
}

/** With its turnstile, beside the lane without a key: by that one workers see whether they may take from it. */
function newKeyedLane(db: Statements, task: LaneWords, limitKey: string): number {
  const base = laneId(db, { ...task, limitKey: NO_KEY })
  const gate = keyGateId(db, task, limitKey)
  const lane = newLane(db, task, limitKey, gate)
  db.sql('INSERT INTO gleaner_turnstiles (lane, base, gate, turn, ready) VALUES (?, ?, ?, 0, 0)').run(
    lane,
    base,
    gate,
  )
  db.sql(`UPDATE gleaner_meta SET value = 1 WHERE key = 'keyed' AND value = 0`).run()
  return lane
}

/** The same key with other requirements counts for the same limit. */
function keyGateId(db: Statements, task: LaneWords, limitKey: string): number {
  const scope = gateScope(task, limitKey)
  const found = db.scalar('SELECT id FROM gleaner_gates WHERE scope = ?').get(scope) as number | undefined
  return (
    found ??
    (db
      .scalar('INSERT INTO gleaner_gates (scope, limit_scope) VALUES (?, ?) RETURNING id')
      .get(scope, scopeWords({ task: task.name })) as number)
  )
}

function laneOfTask(db: Statements, id: number): number {
  return db.scalar('SELECT lane FROM gleaner_tasks WHERE id = ?').get(id) as number
}

/**
 * The lanes as last seen, but for those with a key: there may be many, and they go. The others are only ever added, so
 * what was committed once stays true.
 */
export class LaneCache {
  readonly limits: LimitBook
  readonly #db: Statements
  #lanes = new Map<number, Lane>()
  #ids = new Map<string, number>()
  readonly #ofBatch = new Map<number, number | ReadonlyMap<number, number>>()
  #claimable = new WeakMap<Able, { among: number; lanes: readonly Lane[] }>()

  constructor(db: Statements) {
    this.#db = db
    this.limits = new LimitBook(db)
  }

  /** A rolled back transaction may have added lanes, and tasks, that do not exist. */
  forget(): void {
    this.#lanes = new Map()
    this.#ids = new Map()
    this.#ofBatch.clear()
    this.#claimable = new WeakMap()
    this.limits.forget()
  }

  idOf({ queue, name, requires, limitKey }: LaneWords): number {
    // Only what requires nothing is remembered: it is what there is plenty of.
    if (requires !== null || limitKey !== undefined)
      return laneId(this.#db, { queue, name, requires, limitKey })
    const words = `${queue}/${name}`
    let id = this.#ids.get(words)
    if (id === undefined) {
      id = laneId(this.#db, { queue, name, requires })
      this.#ids.set(words, id)
    }
    return id
  }

  /** The lane of a task never changes; what is claimed now is asked for again soon. Often it is one lane for all. */
  remember(fence: number, batch: readonly { id: number; lane: number }[]): void {
    if (this.#ofBatch.size >= REMEMBERED_MAX) this.#ofBatch.clear()
    const { lane } = batch[0]!
    const one = batch.every((task) => task.lane === lane)
    this.#ofBatch.set(fence, one ? lane : new Map(batch.map((task) => [task.id, task.lane])))
  }

  /** Tasks of one batch. */
  countCompleted(tasks: readonly ClaimProof[], tally: Tally): void {
    if (tasks.length === 0) return
    const { fence } = tasks[0]!
    const lanes = this.#ofBatch.get(fence)
    const count = (lane: number, completed: number) => {
      tally.add(lane, 'completed', completed)
      tally.settled(fence, lane, completed)
    }
    if (typeof lanes === 'number') return count(lanes, tasks.length)
    for (const { id } of tasks) count(lanes?.get(Number(id)) ?? laneOfTask(this.#db, Number(id)), 1)
  }

  get(id: number): Lane {
    return this.#lanes.get(id) ?? readLanes(this.#db, 'id = ?', [id])[0]!
  }

  all(): readonly Lane[] {
    const highest = this.#db
      .scalar(`SELECT coalesce(max(id), 0) FROM gleaner_lanes WHERE limit_key = ''`)
      .get() as number
    if (!this.#lanes.has(highest)) {
      const lanes = readLanes(this.#db, `limit_key = ''`, [])
      this.#lanes = new Map(lanes.map((lane) => [lane.id, lane]))
    }
    return [...this.#lanes.values()]
  }

  /** With a key or without. */
  matching(filter: LaneFilter): readonly Lane[] {
    return [...this.all(), ...keyedLanes(this.#db)].filter((lane) => isMatch(lane, filter))
  }

  /** What this worker may run. The same question is asked at every claim, so its answer is kept. */
  claimable(able: Able): readonly Lane[] {
    const all = this.all()
    const kept = this.#claimable.get(able)
    if (kept?.among === all.length) return kept.lanes
    const lanes = all.filter((lane) => mayTake(lane, able))
    this.#claimable.set(able, { among: all.length, lanes })
    return lanes
  }
}

function keyedLanes(db: Statements): Lane[] {
  const some = db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'keyed'`).get() !== 0
  return some ? readLanes(db, `limit_key <> ''`, []) : []
}

function readLanes(db: Statements, which: string, values: readonly number[]): Lane[] {
  type Row = Omit<Lane, 'requires'> & { requires: string }
  const rows = db
    .sql(`SELECT id, queue, name, requires FROM gleaner_lanes WHERE ${which}`)
    .all(...values) as Row[]
  return rows.map((row) => ({ ...row, requires: readRequirement(row.requires) }))
}
