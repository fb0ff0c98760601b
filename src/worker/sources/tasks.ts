import type { TaskDefinition } from '../../define/task.ts'
import { ClaimLostError } from '../../errors.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { Able, Claim, Exchange, Exchanged, Store } from '../../store/contract.ts'
import type { Execution } from '../attempt.ts'
import { Probation } from '../isolation/cautious-start.ts'
import type { HandedIn } from '../outbox.ts'
import { type Reporting, reportOutcome } from '../report/report.ts'
import type { Desk } from '../run-services.ts'
import { type Completing, type Handing, Source, usesOf } from './source.ts'
import { TaskExecution } from './task-attempt.ts'

const NOTHING = { starts: [], outcomes: [], progress: [], logs: [] }

/** Tasks that somebody enqueued. */
export class TaskSource extends Source {
  readonly kind = 'tasks'
  readonly #store: Store
  readonly #fully: Able
  readonly #definitions: ReadonlyMap<string, TaskDefinition>
  /** What it may run without some resources. */
  #able: { without: readonly string[]; able: Able }
  readonly #probation: Probation

  constructor(
    store: Store,
    able: Able,
    definitions: ReadonlyMap<string, TaskDefinition>,
    probation = new Probation(),
  ) {
    super()
    this.#probation = probation
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

  async exchange({ want, outcomes, ...handing }: Handing): Promise<Exchanged> {
    const probation = this.#probation
    probation.ended(outcomes.length)
    const asked = probation.narrow(want)
    const answer = await this.#store.exchange({
      ...handing,
      // What this source began ended as tasks do.
      outcomes: outcomes as Exchange['outcomes'],
      want: asked === null ? null : { ...asked, able: this.#ableWithout(asked.without) },
    })
    probation.given(answer.claims.length)
    if (!probation.isLooking || asked === null || answer.sessionEnded) return answer
    if (!probation.isOverWithout(this)) return answer
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
    for (const { execution, outcome } of handedIn) {
      const lost = answer.sessionEnded || refused.has(execution.claim.id)
      reportOutcome(reporting, execution, lost ? null : (outcome as Outcome))
    }
  }

  begin(claim: Claim, desk: Desk): Execution {
    return new TaskExecution(claim, this.#definitions.get(claim.name)!, this, desk)
  }

  async completeWith({ session, execution, outcome, effects, reporting }: Completing): Promise<Error | null> {
    const { claim, startedAt, name } = execution
    const { result } = outcome as Outcome & { kind: 'completed' }
    const run = { id: claim.id, fence: claim.fence, startedAt }
    await this.#handInProgress(session, execution)
    const done = await this.#store.completeWith(session, run, result, effects)
    reportOutcome(reporting, execution, done ? (outcome as Outcome) : null)
    return done ? null : new ClaimLostError(`${name}: the claim is in other hands, nothing was written`)
  }

  /** After the completion nothing more is accepted. Progress that cannot be written fails no run. */
  async #handInProgress(session: string, execution: Execution): Promise<void> {
    const at = this.news.takeProgress(execution)
    if (at === undefined) return
    const { id, fence } = execution.claim
    const progress = [{ id, fence, ...at }]
    await this.#store.exchange({ ...NOTHING, session, progress, want: null }).catch(() => {})
  }

  async hasDelayed(): Promise<boolean> {
    const counts = await Promise.all(this.#fully.queues.map((queue) => this.#store.countTasks({ queue })))
    return counts.some(({ scheduled, queued }) => scheduled + queued > 0)
  }
}
