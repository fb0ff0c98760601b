import { expect } from 'vitest'
import type { RowClaim } from '../../../src/store/ports/rows.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import type { TestDatabase } from '../../conformance/index.ts'
import { FILES, fileSource, RowWorker } from '../../conformance/row-worker.ts'
import { World } from '../../conformance/world.ts'
import { MAX_ATTEMPTS, type ModelRow, type ModelTable } from './model-table.ts'

export const WORKERS = 3

/** A worker's present life; a new one has a name of its own, so that nobody is broken by its predecessors. */
export interface Life {
  number: number
  worker: RowWorker
}

/** The table, its store, and the workers on it. */
export class RealTable {
  readonly world: World
  readonly lives: Life[] = []
  /** Every claim there ever was: those that are over must be refused. */
  readonly claims: { life: Life; claim: RowClaim }[] = []
  #lives = 0

  private constructor(world: World) {
    this.world = world
  }

  static async open(database: TestDatabase, version: string | null): Promise<RealTable> {
    const world = new World(database, await database.open())
    await database.tables.run(FILES)
    await world.store.rows.planDiscoveries([fileSource(world, { version, maxAttempts: MAX_ATTEMPTS })])
    const real = new RealTable(world)
    for (let n = 0; n < WORKERS; n++) {
      // One of them on a store of its own.
      real.lives.push(await real.newLife(n === 0 ? await database.open() : world.store))
    }
    return real
  }

  async newLife(store: Store): Promise<Life> {
    const number = this.#lives++
    const claimant = await this.world.worker({ worker: `worker:life:${number}` }, store)
    return { number, worker: new RowWorker(claimant, ['tag-files']) }
  }

  run(sql: string): Promise<void> {
    return this.world.database.tables.run(sql)
  }

  /** The user's table is what the model says, and so is the state of each row. */
  async expectSame(model: ModelTable): Promise<void> {
    const rows = await this.world.database.tables.rows('SELECT * FROM files ORDER BY id')
    const expected = [...model.rows.values()].toSorted((one, other) => one.id - other.id)
    expect(rows as ModelRow[], 'the table').toEqual(expected)
    const now = this.world.clock.now()
    for (const id of model.rows.keys()) {
      const record = await this.world.store.rows.getRow('tag-files', String(id))
      expect(record?.state ?? null, `the state of row ${id}`).toBe(model.state(id, now))
      if (record === null || model.claims.has(id)) continue
      const entry = model.entry(id)
      const { attempts, crashes } = record
      const said = { attempts: entry?.attempts ?? 0, crashes: entry?.crashes ?? 0 }
      expect({ attempts, crashes }, `what is remembered of row ${id}`).toEqual(said)
    }
  }
}
