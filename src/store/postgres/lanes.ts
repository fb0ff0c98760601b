import type { Able, LaneFilter } from '../contract.ts'
import { isMatch, type Lane, mayTake, readRequirement, requirementWords } from '../lane.ts'
import type { Sql } from './sql.ts'

type LaneOf = Pick<Lane, 'queue' | 'name' | 'requires'>

/** The lanes as last seen. They are only ever added, each in a transaction of its own. */
export class LaneBook {
  readonly #sql: Sql
  #lanes = new Map<number, Lane>()
  #ids = new Map<string, number>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  known({ queue, name, requires }: LaneOf): number | undefined {
    return this.#ids.get(`${queue}/${name}/${requirementWords(requires)}`)
  }

  /** Before a transaction: one that holds a connection must not wait for another, which others may hold and wait, too. */
  async learn(tasks: readonly LaneOf[]): Promise<void> {
    for (const task of tasks) if (this.known(task) === undefined) await this.#make(task)
  }

  /** Of its own accord, and never inside a caller's transaction: a lane that was seen once stays. */
  async #make({ queue, name, requires }: LaneOf): Promise<void> {
    await this.#sql.run(
      'INSERT INTO gleaner.lanes (queue, name, requires) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [queue, name, requirementWords(requires)],
    )
    await this.refresh()
  }

  async refresh(sql: Sql = this.#sql): Promise<void> {
    type Row = { id: number; queue: string; name: string; requires: string }
    const rows = await sql.rows<Row>('SELECT id, queue, name, requires FROM gleaner.lanes')
    this.#lanes = new Map(rows.map((row) => [row.id, { ...row, requires: readRequirement(row.requires) }]))
    this.#ids = new Map(rows.map((row) => [`${row.queue}/${row.name}/${row.requires}`, row.id]))
  }

  /** Reads them again unless the highest there is is known: they are only ever added. */
  async knowing(highest: number | null, sql: Sql): Promise<void> {
    if (highest !== null && !this.#lanes.has(highest)) await this.refresh(sql)
  }

  async get(id: number, sql: Sql = this.#sql): Promise<Lane> {
    if (!this.#lanes.has(id)) await this.refresh(sql)
    return this.#lanes.get(id)!
  }

  async matching(filter: LaneFilter, sql: Sql = this.#sql): Promise<readonly Lane[]> {
    await this.refresh(sql)
    return [...this.#lanes.values()].filter((lane) => isMatch(lane, filter))
  }

  claimable(able: Able): readonly Lane[] {
    return [...this.#lanes.values()].filter((lane) => mayTake(lane, able))
  }
}
