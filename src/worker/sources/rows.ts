import type { DiscoveryDefinition } from '../../define/discovery.ts'
import { ClaimLostError, GleanerError } from '../../errors.ts'
import type { RowAnswer, RowOutcome, RowState } from '../../model/row.ts'
import type { BrokenDiscovery, RowClaim, RowExchange, RowWant, Store } from '../../store/contract.ts'
import type { Attempt } from '../attempt.ts'
import { CautiousStart } from '../isolation/cautious-start.ts'
import type { HandedIn } from '../outbox.ts'
import type { Reporting } from '../report/report.ts'
import { reportBroken, reportRow, reportRows } from '../report/report-row.ts'
import type { RunServices } from '../run-services.ts'
import { RowAttempt } from './row-attempt.ts'
import {
  type Capacity,
  type Completing,
  Source,
  type SourceAnswer,
  type SourceExchange,
  usesOf,
} from './source.ts'

interface RowsTaken extends SourceAnswer {
  answers: readonly RowAnswer[]
  broken?: readonly BrokenDiscovery[]
}

const NOTHING = { starts: [], outcomes: [], progress: [], logs: [] }

/** Rows of the user's own tables that need work. */
export class RowSource extends Source {
  readonly kind = 'rows'
  readonly #store: Store
  readonly #definitions: ReadonlyMap<string, DiscoveryDefinition>
  readonly #names: readonly string[]
  /** Those that it may work on without some resources. */
  #able: { without: readonly string[]; names: readonly string[] }
  readonly #cautiousStart: CautiousStart

  constructor(
    store: Store,
    definitions: ReadonlyMap<string, DiscoveryDefinition>,
    cautiousStart = new CautiousStart(),
  ) {
    super()
    this.#cautiousStart = cautiousStart
    this.#store = store
    this.#definitions = definitions
    this.#names = [...definitions.keys()]
    this.#able = { without: [], names: this.#names }
  }

  get serves() {
    return { discoveries: this.#names }
  }

  uses() {
    return usesOf(this.#definitions.values())
  }

  /** Log lines and progress are told, not stored: the row is the only state. */
  async exchange({ session, starts, outcomes, want: wanted, holding }: SourceExchange): Promise<RowsTaken> {
    this.#cautiousStart.ended(outcomes.length)
    const want = this.#cautiousStart.narrow(wanted)
    const answer = await this.#store.exchangeRows({
      session,
      starts,
      // What this source began ended as rows do.
      outcomes: outcomes as RowExchange['outcomes'],
      want: want === null ? null : this.#wanted(want),
      holding,
    })
    this.#cautiousStart.given(answer.claims.length)
    const fenced = answer.answers.filter(({ kind }) => kind === 'refused').length
    const taken = { ...answer, cancels: [], fenced, unlimited: true }
    // Before suspects were asked for nobody knows whether there are others.
    if (!this.#cautiousStart.isLooking || !want?.empty || answer.sessionEnded) return taken
    if (!this.#cautiousStart.isOverWithout(this)) return taken
    const { claims } = await this.exchange({ ...NOTHING, session, want: wanted })
    // Who was asked before has perhaps what was avoided.
    return { ...taken, claims, nextDueInMs: claims.length > 0 ? answer.nextDueInMs : 0 }
  }

  #wanted({ without, ...room }: Capacity): RowWant | null {
    if (this.#able.without !== without)
      this.#able = { without, names: this.#names.filter((name) => !without.includes(name)) }
    const { names } = this.#able
    return names.length === 0 ? null : { discoveries: names, ...room }
  }

  report(reporting: Reporting, handedIn: readonly HandedIn[], answer: SourceAnswer): void {
    const { answers, broken = [] } = answer as RowsTaken
    reportRows(reporting, handedIn, answers)
    for (const one of broken) reportBroken(reporting, one)
  }

  begin(claim: RowClaim, services: RunServices): Attempt {
    return new RowAttempt(claim, this.#definitions.get(claim.discovery)!, this, services)
  }

  async completeWith({ session, attempt, outcome, effects, reporting }: Completing): Promise<Error | null> {
    const { claim, startedAt } = attempt
    const run = { id: claim.id, fence: claim.fence, startedAt }
    const completed = outcome as RowOutcome & { kind: 'completed' }
    const answer = await this.#store.completeRowWith(session, run, completed, effects)
    reportRow(reporting, attempt, answer)
    return answer.kind === 'done' ? null : refusalOf(answer, claim.id)
  }

  /** A table may begin with hundreds of rows that take processes down: others go on meanwhile. */
  override suspectsGoFirst(isolation: { isTimeForSuspects: boolean }): boolean {
    return isolation.isTimeForSuspects
  }

  /** Asked of the rows themselves: counts may be a second old. */
  async hasDelayed(): Promise<boolean> {
    for (const name of this.#names)
      for (const state of DELAYED) if (await this.#hasAny(name, state)) return true
    return false
  }

  /** A page may be empty although there is more. */
  async #hasAny(name: string, state: RowState): Promise<boolean> {
    let cursor: string | null = null
    do {
      const page = await this.#store.listRows(name, { state }, { limit: PAGE, cursor })
      if (page.items.length > 0) return true
      cursor = page.next
    } while (cursor !== null)
    return false
  }
}

const PAGE = 100

/** Not due, or in a discovery that is paused. */
const DELAYED = ['backing-off', 'waiting'] as const

/** What a handler is told whose own writes were undone. */
function refusalOf(answer: RowAnswer, id: string): Error {
  switch (answer.kind) {
    case 'changed':
      return new ClaimLostError(
        `${id}: the row was edited meanwhile, nothing was written; it stays to be done`,
      )
    case 'gone':
      return new ClaimLostError(`${id}: the row is gone or resources no work any more, nothing was written`)
    case 'failed':
      return new GleanerError(`${id}: ${answer.failure.message}; nothing was written`, { code: 'BAD_DONE' })
    case 'paused':
      return new GleanerError(`${id}: ${answer.reason}; nothing was written, and its discovery is paused`, {
        code: 'DISCOVERY_PAUSED',
      })
    default:
      return new ClaimLostError(`${id}: the claim is in other inFlight, nothing was written`)
  }
}
