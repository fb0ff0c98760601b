import { encodePayload } from '../../define/payload.ts'
import { checkAgainst } from '../../define/schema.ts'
import type { TaskDefinition } from '../../define/task.ts'
import { ClaimLostError } from '../../errors.ts'
import { readExactly } from '../../exact-json.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Claim, ClaimAbilities, Exchange, Exchanged } from '../../store/ports/exchange.ts'
import type { TaskStore } from '../../store/ports/tasks.ts'
import { Attempt, type SettledAttempt } from '../attempt/attempt.ts'
import type { Reporting } from '../attempt/reporting.ts'
import type { AttemptServices } from '../attempt/services.ts'
import { type Completing, Source, type SourceExchange } from '../attempt/source.ts'
import type { CautiousStart } from '../isolation/cautious-start.ts'
import { reportTask } from '../report/report.ts'
import { batchSizeOf, usesOf } from './sources.ts'

/** Tasks that an app enqueued. */
export class TaskSource extends Source {
  readonly kind = 'tasks'
  readonly #store: TaskStore
  readonly #fully: ClaimAbilities
  readonly #definitions: ReadonlyMap<string, TaskDefinition>
  /** What it may run without some resources. */
  #able: { without: readonly string[]; able: ClaimAbilities }

  constructor(
    store: TaskStore,
    able: ClaimAbilities,
    definitions: ReadonlyMap<string, TaskDefinition>,
    cautiousStart: CautiousStart | null = null,
  ) {
    super(cautiousStart)
    this.#store = store
    this.#fully = able
    this.#able = { without: [], able }
    this.#definitions = definitions
  }

  get serves() {
    const { queues, names, orders } = this.#fully
    return {
      queues,
      names,
      ...(orders === undefined ? {} : { strategies: Object.fromEntries(orders.queues) }),
    }
  }

  uses() {
    return usesOf(this.#definitions.values())
  }

  get batchSize() {
    return batchSizeOf(this.#definitions.values())
  }

  /** A task may be enqueued into any queue. Most stay in their own. */
  override expects(name: string): boolean {
    const queue = this.#definitions.get(name)?.queue
    return queue !== undefined && this.#fully.queues.includes(queue)
  }

  ask({ want, outcomes, ...exchange }: SourceExchange): Promise<Exchanged> {
    return this.#store.exchange({
      ...exchange,
      // All attempts of this source are at tasks.
      outcomes: outcomes as Exchange['outcomes'],
      want: want === null ? null : { ...want, able: this.#ableWithout(want.without) },
    })
  }

  /** The same object while the same is missing: the store keeps what it knows by it. */
  #ableWithout(without: readonly string[]): ClaimAbilities {
    if (without.length === 0) return this.#fully
    if (this.#able.without !== without) {
      const names = this.#fully.names.filter((name) => !without.includes(name))
      this.#able = { without, able: { ...this.#fully, names } }
    }
    return this.#able.able
  }

  report(reporting: Reporting, settled: readonly SettledAttempt[], answer: Exchanged): void {
    const refused = new Set(answer.refused)
    for (const attempt of settled) {
      const isLost = answer.sessionEnded || refused.has(attempt.id)
      reportTask(reporting, attempt, isLost ? null : (attempt.outcome as Outcome))
    }
  }

  begin(claim: Claim, services: AttemptServices): Attempt {
    return new TaskAttempt(claim, this.#definitions.get(claim.name)!, this, services)
  }

  async completeWith({ session, attempt, effects, reporting }: Completing): Promise<Error | null> {
    const { id, fence, startedAt, name } = attempt
    const outcome = attempt.outcome as Outcome & { kind: 'completed' }
    await this.#sendProgress(session, attempt)
    const done = await this.#store.completeWith(session, { id, fence, startedAt }, outcome.result, effects)
    reportTask(reporting, attempt, done ? outcome : null)
    return done ? null : new ClaimLostError(`${name}: another worker holds the claim; nothing was written`)
  }

  /** The store accepts nothing after the completion. Progress that cannot be written fails no attempt. */
  async #sendProgress(session: string, attempt: Attempt): Promise<void> {
    const at = this.outbox.takeProgress(attempt)
    if (at === undefined) return
    const progress = [{ id: attempt.id, fence: attempt.fence, ...at }]
    const exchange = { session, starts: [], outcomes: [], progress, logs: [], want: null }
    await this.#store.exchange(exchange).catch(() => {})
  }

  async hasDelayed(): Promise<boolean> {
    const counts = await Promise.all(this.#fully.queues.map((queue) => this.#store.countTasks({ queue })))
    return counts.some(({ scheduled, queued, suspended }) => scheduled + queued + suspended > 0)
  }
}

/** One attempt at a task. */
class TaskAttempt extends Attempt {
  declare readonly claim: Claim
  declare readonly definition: TaskDefinition
  readonly queue: string

  constructor(claim: Claim, definition: TaskDefinition, source: Source, services: AttemptServices) {
    super(claim, definition, source, services)
    this.queue = claim.queue
  }

  get item(): string {
    return `${this.name}/${this.id}`
  }

  input(): unknown {
    const { input: schema, name } = this.definition
    const input = this.claim.input === null ? undefined : readExactly(this.claim.input)
    return schema === undefined ? input : checkAgainst(schema, input, `input of ${name}`)
  }

  protected handle(input: unknown): unknown {
    return this.definition.run!(input, this.context)
  }

  completed(result: unknown): Outcome {
    const what = `result of ${this.name}`
    return {
      kind: 'completed',
      result: encodePayload(result, what, this.services.payloadLimit, 'RESULT_TOO_LARGE'),
    }
  }
}
