import type { Requires } from '../../model/task.ts'
import type { Able, ClaimProof, LaneFilter } from '../contract.ts'
import { isMatch, type Lane, mayTake, readRequirement, requirementWords } from '../lane.ts'
import type { Statements } from './statements.ts'
import type { Tally } from './tally.ts'

/** Batches, of which few have anything left that runs. Of the others the rows tell. */
const REMEMBERED_MAX = 100

export function laneId(db: Statements, queue: string, name: string, requires: Requires | null): number {
  const words = requirementWords(requires)
  const found = db
    .scalar('SELECT id FROM gleaner_lanes WHERE queue = ? AND name = ? AND requires = ?')
    .get(queue, name, words) as number | undefined
  return (
    found ??
    (db
      .scalar('INSERT INTO gleaner_lanes (queue, name, requires) VALUES (?, ?, ?) RETURNING id')
      .get(queue, name, words) as number)
  )
}

function laneOfTask(db: Statements, id: number): number {
  return db.scalar('SELECT lane FROM gleaner_tasks WHERE id = ?').get(id) as number
}

/** The lanes as last seen. They are only ever added, so what was committed once stays true. */
export class LaneCache {
  readonly #db: Statements
  #lanes = new Map<number, Lane>()
  #ids = new Map<string, number>()
  readonly #ofBatch = new Map<number, number | ReadonlyMap<number, number>>()
  #claimable = new WeakMap<Able, { among: number; lanes: readonly Lane[] }>()

  constructor(db: Statements) {
    this.#db = db
  }

  /** A rolled back transaction may have added lanes, and tasks, that do not exist. */
  forget(): void {
    this.#lanes = new Map()
    this.#ids = new Map()
    this.#ofBatch.clear()
    this.#claimable = new WeakMap()
  }

  idOf(queue: string, name: string, requires: Requires | null): number {
    // Only what requires nothing is remembered: it is what there is plenty of.
    if (requires !== null) return laneId(this.#db, queue, name, requires)
    const words = `${queue}/${name}`
    let id = this.#ids.get(words)
    if (id === undefined) {
      id = laneId(this.#db, queue, name, requires)
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
    tally.settled(fence, tasks.length)
    const lanes = this.#ofBatch.get(fence)
    if (typeof lanes === 'number') return tally.add(lanes, 'completed', tasks.length)
    for (const { id } of tasks) {
      tally.add(lanes?.get(Number(id)) ?? laneOfTask(this.#db, Number(id)), 'completed', 1)
    }
  }

  get(id: number): Lane {
    return this.#lanes.get(id) ?? this.all().find((lane) => lane.id === id)!
  }

  all(): readonly Lane[] {
    const highest = this.#db.scalar('SELECT coalesce(max(id), 0) FROM gleaner_lanes').get() as number
    if (!this.#lanes.has(highest)) {
      const rows = this.#db.sql('SELECT id, queue, name, requires FROM gleaner_lanes').all() as (Omit<
        Lane,
        'requires'
      > & { requires: string })[]
      this.#lanes = new Map(rows.map((row) => [row.id, { ...row, requires: readRequirement(row.requires) }]))
    }
    return [...this.#lanes.values()]
  }

  matching(filter: LaneFilter): readonly Lane[] {
    return this.all().filter((lane) => isMatch(lane, filter))
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
