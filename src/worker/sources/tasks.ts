import type { TaskDefinition } from '../../define/task.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Able, Claim, Effects, Exchanged, Store } from '../../store/contract.ts'
import type { Desk } from '../desk.ts'
import type { Execution } from '../execution.ts'
import { TaskExecution } from '../task-execution.ts'
import { type Handing, Source } from './source.ts'

/** Tasks that somebody enqueued. */
export class TaskSource extends Source {
  readonly #store: Store
  readonly #able: Able
  readonly #definitions: ReadonlyMap<string, TaskDefinition>

  constructor(store: Store, able: Able, definitions: ReadonlyMap<string, TaskDefinition>) {
    super()
    this.#store = store
    this.#able = able
    this.#definitions = definitions
  }

  exchange(handing: Handing): Promise<Exchanged> {
    const { want } = handing
    return this.#store.exchange({ ...handing, want: want === null ? null : { able: this.#able, ...want } })
  }

  begin(claim: Claim, desk: Desk): Execution {
    return new TaskExecution(claim, this.#definitions.get(claim.name)!, this, desk)
  }

  completeWith(
    session: string,
    { claim: { id, fence }, startedAt }: Execution,
    outcome: Outcome,
    effects: Effects,
  ): Promise<boolean> {
    const result = outcome.kind === 'completed' ? outcome.result : null
    return this.#store.completeWith(session, { id, fence, startedAt }, result, effects)
  }

  async hasDelayed(): Promise<boolean> {
    const counts = await Promise.all(this.#able.queues.map((queue) => this.#store.countTasks({ queue })))
    return counts.some(({ scheduled, queued }) => scheduled + queued > 0)
  }
}
