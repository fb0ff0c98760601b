import { scopeWords } from '../../../model/limit.ts'
import { ClaimableLanes } from '../../claimable.ts'
import { isMatch, type Lane, OWN_LINES_MAX, readRequirement, requirementWords } from '../../lane.ts'
import { limitScope } from '../../limit-row.ts'
import type { ClaimAbilities, ClaimProof } from '../../ports/exchange.ts'
import type { LaneFilter } from '../../ports/tasks.ts'
import type { Statements } from '../file/statements.ts'
import { LimitCache } from '../limits/counters.ts'
import type { Tally } from './tally.ts'

/** Batches, of which few have anything left that runs. Of the others the rows tell. */
const REMEMBERED_MAX = 100

/** In `limit_key`, which is never empty otherwise. */
const NO_KEY = ''

/** What decides about a task's lane. */
type LaneWords = Pick<Lane, 'queue' | 'name' | 'requires'> & { limitKey?: string }

/** Where a task waits: its row names both. */
export type LanePlace = Pick<Lane, 'id' | 'line'>

export function laneFor(db: Statements, task: LaneWords): LanePlace {
  const { queue, name, limitKey = NO_KEY } = task
  const found = db
    .sql('SELECT id, line FROM gleaner_lanes WHERE queue = ? AND name = ? AND requires = ? AND limit_key = ?')
    .get(queue, name, requirementWords(task.requires), limitKey) as LanePlace | undefined
  if (found !== undefined) return found
  if (limitKey !== NO_KEY) return { id: newKeyedLane(db, task, limitKey), line: null }
  const id = newLane(db, task, limitKey, null)
  return { id, line: lineFor(db, task.queue, id) }
}

/** Null for the first lanes of a queue. */
function lineFor(db: Statements, queue: string, lane: number): number | null {
  const shared = db
    .scalar('SELECT line FROM gleaner_lanes WHERE queue = ? AND line IS NOT NULL LIMIT 1')
    .get(queue) as number | undefined
  if (shared === undefined) {
    const lanes = db
      .scalar(`SELECT count(*) FROM (SELECT 1 FROM gleaner_lanes WHERE queue = ? AND limit_key = '' LIMIT ?)`)
      .get(queue, OWN_LINES_MAX + 1) as number
    if (lanes <= OWN_LINES_MAX) return null
  }
  const line = shared ?? lane
  db.sql('UPDATE gleaner_lanes SET line = ? WHERE id = ?').run(line, lane)
  return line
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
  const base = laneFor(db, { ...task, limitKey: NO_KEY }).id
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
  const scope = limitScope(task, limitKey)
  const found = db.scalar('SELECT id FROM gleaner_gates WHERE scope = ?').get(scope) as number | undefined
  return (
    found ??
    (db
      .scalar('INSERT INTO gleaner_gates (scope, limit_scope) VALUES (?, ?) RETURNING id')
      .get(scope, scopeWords({ task: task.name })) as number)
  )
}

/** A task that was just claimed. */
type ClaimedRow = { id: number; lane: number; order_key: string | null }

function rowOfTask(db: Statements, id: number): Omit<ClaimedRow, 'id'> {
  return db.sql('SELECT lane, order_key FROM gleaner_tasks WHERE id = ?').get(id) as Omit<ClaimedRow, 'id'>
}

/**
 * The lanes as last seen, but for those with a key: there may be many, and they go. The others are only ever added, so
 * what was committed once stays true.
 */
export class LaneCache {
  readonly limits: LimitCache
  readonly #db: Statements
  readonly #lanes = new Map<number, Lane>()
  /** The same, in the order of their ids. */
  #inOrder: Lane[] = []
  readonly #sizeOfLine = new Map<number, number>()
  readonly #places = new Map<string, LanePlace>()
  readonly #ofBatch = new Map<number, number | ReadonlyMap<number, number>>()
  /** Of those of its tasks that have one, the order key. */
  readonly #ordered = new Map<number, ReadonlyMap<number, string>>()
  #claimable = new WeakMap<ClaimAbilities, { added: number; lanes: ClaimableLanes }>()

  constructor(db: Statements) {
    this.#db = db
    this.limits = new LimitCache(db)
  }

  /** A rolled back transaction may have added lanes, and tasks, that do not exist. */
  forget(): void {
    this.#lanes.clear()
    this.#inOrder = []
    this.#sizeOfLine.clear()
    this.#places.clear()
    this.#ofBatch.clear()
    this.#ordered.clear()
    this.#claimable = new WeakMap()
    this.limits.forget()
  }

  placeOf({ queue, name, requires, limitKey }: LaneWords): LanePlace {
    // Only what requires nothing is remembered: it is what there is plenty of.
    if (requires !== null || limitKey !== undefined)
      return laneFor(this.#db, { queue, name, requires, limitKey })
    const words = `${queue}/${name}`
    let place = this.#places.get(words)
    if (place === undefined) {
      place = laneFor(this.#db, { queue, name, requires })
      this.#places.set(words, place)
    }
    return place
  }

  /** The lane of a task never changes; what is claimed now is asked for again soon. Often it is one lane for all. */
  remember(fence: number, batch: readonly ClaimedRow[]): void {
    if (this.#ofBatch.size >= REMEMBERED_MAX) {
      this.#ofBatch.clear()
      this.#ordered.clear()
    }
    const ordered = batch.filter(({ order_key }) => order_key !== null)
    if (ordered.length > 0) this.#ordered.set(fence, new Map(ordered.map((one) => [one.id, one.order_key!])))
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
    if (lanes === undefined) {
      for (const { id } of tasks) {
        const { lane, order_key } = rowOfTask(this.#db, Number(id))
        count(lane, 1)
        if (order_key !== null) tally.led(Number(id), order_key)
      }
      return
    }
    const ordered = this.#ordered.get(fence)
    if (ordered !== undefined)
      for (const { id } of tasks) if (ordered.has(Number(id))) tally.led(Number(id), ordered.get(Number(id))!)
    if (typeof lanes === 'number') return count(lanes, tasks.length)
    for (const { id } of tasks) count(lanes.get(Number(id))!, 1)
  }

  get(id: number): Lane {
    return this.#lanes.get(id) ?? readLanes(this.#db, 'id = ?', [id])[0]!
  }

  /** In the order of their ids. */
  all(): readonly Lane[] {
    const highest = this.#db
      .scalar(`SELECT coalesce(max(id), 0) FROM gleaner_lanes WHERE limit_key = ''`)
      .get() as number
    const known = this.#inOrder.at(-1)?.id ?? 0
    if (highest > known) {
      for (const lane of readLanes(this.#db, `limit_key = '' AND id > ? ORDER BY id`, [known]))
        this.#add(lane)
    }
    return this.#inOrder
  }

  #add(lane: Lane): void {
    this.#lanes.set(lane.id, lane)
    this.#inOrder.push(lane)
    if (lane.line !== null) this.#sizeOfLine.set(lane.line, (this.#sizeOfLine.get(lane.line) ?? 0) + 1)
  }

  /** With a key or without. */
  matching(filter: LaneFilter): readonly Lane[] {
    return [...this.all(), ...keyedLanes(this.#db)].filter((lane) => isMatch(lane, filter))
  }

  /** What this worker may run. The same question is asked at every claim, so its answer is kept. */
  claimable(able: ClaimAbilities): ClaimableLanes {
    const all = this.all()
    let kept = this.#claimable.get(able)
    if (kept === undefined) {
      kept = { added: 0, lanes: new ClaimableLanes(able, (line) => this.#sizeOfLine.get(line) ?? 0) }
      this.#claimable.set(able, kept)
    }
    if (kept.added < all.length) {
      kept.lanes.add(all.slice(kept.added))
      kept.added = all.length
    }
    return kept.lanes
  }
}

function keyedLanes(db: Statements): Lane[] {
  const some = db.scalar(`SELECT value FROM gleaner_meta WHERE key = 'keyed'`).get() !== 0
  return some ? readLanes(db, `limit_key <> ''`, []) : []
}

function readLanes(db: Statements, which: string, values: readonly number[]): Lane[] {
  type Row = Omit<Lane, 'requires'> & { requires: string }
  const rows = db
    .sql(`SELECT id, queue, name, requires, line FROM gleaner_lanes WHERE ${which}`)
    .all(...values) as Row[]
  return rows.map((row) => ({ ...row, requires: readRequirement(row.requires) }))
}
