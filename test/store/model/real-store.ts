import type { TaskStatus } from '../../../src/model/task.ts'
import type { Claim, Store } from '../../../src/store/contract.ts'
import { Claimant } from '../../../src/testing/conformance/claimant.ts'
import type { MovableClock, TestDatabase } from '../../../src/testing/conformance/index.ts'
import type { Able, Life, ModelStore } from './model-store.ts'

/** Two that can do everything, one that cannot. */
const ABLE: readonly Able[] = [
  { names: ['a', 'b'], queues: ['x', 'y'] },
  { names: ['a', 'b'], queues: ['x', 'y'] },
  { names: ['a'], queues: ['x'] },
]

export interface Worker {
  claimant: Claimant
  able: Able
  life: Life
}

/** A claim somebody once had: still good, or long lost. */
export interface OldClaim {
  claim: Claim
  worker: Worker
  session: string
  life: Life
}

/** The store under test: each worker has a connection of its own. */
export class RealStore {
  readonly database: TestDatabase
  readonly store: Store
  readonly workers: readonly Worker[]
  readonly claims: OldClaim[] = []
  lastFence = 0

  constructor(database: TestDatabase, store: Store, workers: readonly Worker[]) {
    this.database = database
    this.store = store
    this.workers = workers
  }

  static async open(database: TestDatabase, model: ModelStore): Promise<RealStore> {
    const workers: Worker[] = []
    for (const [n, able] of ABLE.entries()) {
      const store = await database.open()
      const claimant = await new Claimant(store, database.clock, { ...able, worker: `worker:${n}` }).begin()
      workers.push({ claimant, able, life: newLife(model, `worker:${n}`) })
    }
    return new RealStore(database, await database.open(), workers)
  }

  get clock(): MovableClock {
    return this.database.clock
  }

  async listed(status?: TaskStatus, queue?: string) {
    const page = await this.store.listTasks({ status, queue }, { limit: 1_000, cursor: null })
    return page.items
  }
}

export function newLife(model: ModelStore, worker: string, lastServed: string | null = null): Life {
  const life: Life = { worker, ended: null, blamed: null, useful: false, lastServed }
  model.lives.push(life)
  return life
}
