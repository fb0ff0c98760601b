import type { TaskDefinition } from '../../define/task.ts'
import { ClaimLostError } from '../../errors.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Able, Claim, Exchange, Exchanged, Store } from '../../store/contract.ts'
import type { Attempt } from '../attempt.ts'
import { CautiousStart } from '../isolation/cautious-start.ts'
import type { HandedIn } from '../outbox.ts'
import { type Reporting, reportTask } from '../report/report.ts'
import type { RunServices } from '../run-services.ts'
import { type Completing, Source, type SourceExchange, usesOf } from './source.ts'
import { TaskAttempt } from './task-attempt.ts'

const NOTHING = { starts: [], outcomes: [], progress: [], logs: [] }

/** Tasks that somebody enqueued. */
export class TaskSource extends Source {
  readonly kind = 'tasks'
  readonly #store: Store
  readonly #fully: Able
  readonly #definitions: ReadonlyMap<string, TaskDefinition>
  /** What it may run without some resources. */
  #able: { without: readonly string[]; able: Able }
  readonly #cautiousStart: CautiousStart

  constructor(
    store: Store,
    able: Able,
    definitions: ReadonlyMap<string, TaskDefinition>,
    cautiousStart = new CautiousStart(),
  ) {
    super()
    this.#cautiousStart = cautiousStart
    this.#store = store
    this.#fully = able
    this.#able = { without: [], able }
    this.#definitions = definitions
  }

  get serves() {
    const { queues, names } = this.#fully
    return { queues, names }
  }

  uses() {
    return usesOf(this.#definitions.values())
  }

  /** A task may be enqueued into any queue. Most stay in their own. */
  override expects(name: string): boolean {
    const queue = this.#definitions.get(name)?.queue
    return queue !== undefined && this.#fully.queues.includes(queue)
  }

  async exchange({ want, outcomes, ...handing }: SourceExchange): Promise<Exchanged> {
    const cautiousStart = this.#cautiousStart
    cautiousStart.ended(outcomes.length)
    const asked = cautiousStart.narrow(want)
    const answer = await this.#store.exchange({
      ...handing,
      // What this source began ended as tasks do.
      outcomes: outcomes as Exchange['outcomes'],
      want: asked === null ? null : { ...asked, able: this.#ableWithout(asked.without) },
    })
    cautiousStart.given(answer.claims.length)
    if (!cautiousStart.isLooking || asked === null || answer.sessionEnded) return answer
    if (!cautiousStart.isOverWithout(this)) return answer
    const { claims } = await this.exchange({ ...NOTHING, session: handing.session, want })
    // Who was asked before has perhaps what was avoided.
    return { ...answer, claims, nextDueInMs: claims.length > 0 ? answer.nextDueInMs : 0 }
  }

  /** The same object while the same is missing: the store keeps what it knows by it. */
  #ableWithout(without: readonly string[]): Able {
    if (without.length === 0) return this.#fully
    if (this.#able.without !== without) {
      const names = this.#fully.names.filter((name) => !without.includes(name))
      this.#able = { without, able: { ...this.#fully, names } }
    }
    return this.#able.able
  }

  report(reporting: Reporting, handedIn: readonly HandedIn[], answer: Exchanged): void {
    const refused = new Set(answer.refused)
    for (const { attempt, outcome } of handedIn) {
      const lost = answer.sessionEnded || refused.has(attempt.claim.id)
      reportTask(reporting, attempt, lost ? null : (outcome as Outcome))
    }
  }

  begin(claim: Claim, services: RunServices): Attempt {
    return new TaskAttempt(claim, this.#definitions.get(claim.name)!, this, services)
  }

  async completeWith({ session, attempt, outcome, effects, reporting }: Completing): Promise<Error | null> {
    const { claim, startedAt, name } = attempt
    const { result } = outcome as Outcome & { kind: 'completed' }
    const run = { id: claim.id, fence: claim.fence, startedAt }
    await this.#handInProgress(session, attempt)
    const done = await this.#store.completeWith(session, run, result, effects)
    reportTask(reporting, attempt, done ? (outcome as Outcome) : null)
    return done ? null : new ClaimLostError(`${name}: the claim is in other inFlight, nothing was written`)
  }

  /** After the completion nothing more is accepted. Progress that cannot be written fails no run. */
  async #handInProgress(session: string, attempt: Attempt): Promise<void> {
    const at = this.outbox.takeProgress(attempt)
    if (at === undefined) return
    const { id, fence } = attempt.claim
    const progress = [{ id, fence, ...at }]
    await this.#store.exchange({ ...NOTHING, session, progress, want: null }).catch(() => {})
  }

  async hasDelayed(): Promise<boolean> {
    const counts = await Promise.all(this.#fully.queues.map((queue) => this.#store.countTasks({ queue })))
    return counts.some(({ scheduled, queued }) => scheduled + queued > 0)
  }
}
