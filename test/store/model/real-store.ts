import type { TaskStatus } from '../../../src/model/task.ts'
import { OWN_LINES_MAX } from '../../../src/store/lane.ts'
import type { Claim } from '../../../src/store/ports/exchange.ts'
import type { Store } from '../../../src/store/ports/store.ts'
import { Claimant } from '../../conformance/claimant.ts'
import type { MovableClock, TestDatabase } from '../../conformance/index.ts'
import { newTask } from '../../conformance/world.ts'
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

/** The tasks of the model are in lanes of this queue that share a line; those of the other queue are not. */
async function fillLanes(store: Store, queue: string): Promise<void> {
  for (let n = 0; n < OWN_LINES_MAX; n++) {
    const [task] = await store.tasks.enqueue([newTask({ queue, name: `other-${n}` })])
    await store.tasks.cancelTask(task!.id)
    await store.tasks.removeTask(task!.id)
  }
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
    const store = await database.open()
    await fillLanes(store, 'x')
    const workers: Worker[] = []
    for (const [n, able] of ABLE.entries()) {
      const own = await database.open()
      const claimant = await new Claimant(own, database.clock, { ...able, worker: `worker:${n}` }).begin()
      workers.push({ claimant, able, life: newLife(model, `worker:${n}`) })
    }
    return new RealStore(database, store, workers)
  }

  get clock(): MovableClock {
    return this.database.clock
  }

  async listed(status?: TaskStatus, queue?: string) {
    const page = await this.store.tasks.listTasks({ status, queue }, { limit: 1_000, cursor: null })
    return page.items
  }
}

export function newLife(model: ModelStore, worker: string, lastServed: string | null = null): Life {
  const life: Life = { worker, ended: null, blamed: null, useful: false, lastServed }
  model.lives.push(life)
  return life
}
