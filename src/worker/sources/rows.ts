import type { DiscoveryDefinition } from '../../define/discovery.ts'
import { checkAgainst } from '../../define/schema.ts'
import { doneValues } from '../../discovery/done.ts'
import { ClaimLostError, GleanerError } from '../../errors.ts'
import type { RowAnswer, RowOutcome, RowState } from '../../model/row.ts'
import type {
  BrokenDiscovery,
  RowClaim,
  RowClaimRequest,
  RowExchange,
  RowStore,
} from '../../store/ports/rows.ts'
import { Attempt, type SettledAttempt } from '../attempt/attempt.ts'
import type { Reporting } from '../attempt/reporting.ts'
import type { AttemptServices } from '../attempt/services.ts'
import {
  type Completing,
  Source,
  type SourceAnswer,
  type SourceExchange,
  type WorkRequest,
} from '../attempt/source.ts'
import type { CautiousStart } from '../isolation/cautious-start.ts'
import { reportBroken, reportRow, reportRows } from '../report/report.ts'
import { batchSizeOf, usesOf } from './sources.ts'

interface RowsAnswer extends SourceAnswer {
  answers: readonly RowAnswer[]
  broken?: readonly BrokenDiscovery[]
}

/** Rows of the user's own tables that need work. */
export class RowsSource extends Source {
  readonly kind = 'rows'
  readonly #store: RowStore
  readonly #definitions: ReadonlyMap<string, DiscoveryDefinition>
  readonly #names: readonly string[]
  /** Those that it may work on without some resources. */
  #able: { without: readonly string[]; names: readonly string[] }

  constructor(
    store: RowStore,
    definitions: ReadonlyMap<string, DiscoveryDefinition>,
    cautiousStart: CautiousStart | null = null,
  ) {
    super(cautiousStart)
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

  get batchSize() {
    return batchSizeOf(this.#definitions.values())
  }

  /** Listeners are told log lines and progress. Nothing stores them: the row is the only state. */
  async ask({ session, starts, outcomes, want, holding }: SourceExchange): Promise<RowsAnswer> {
    const answer = await this.#store.exchangeRows({
      session,
      starts,
      // All attempts of this source are at rows.
      outcomes: outcomes as RowExchange['outcomes'],
      want: want === null ? null : this.#wanted(want),
      holding,
    })
    const fenced = answer.answers.filter(({ kind }) => kind === 'refused').length
    return { ...answer, cancels: [], fenced, unlimited: true }
  }

  #wanted({ without, ...request }: WorkRequest): RowClaimRequest | null {
    if (this.#able.without !== without)
      this.#able = { without, names: this.#names.filter((name) => !without.includes(name)) }
    const { names } = this.#able
    return names.length === 0 ? null : { discoveries: names, ...request }
  }

  report(reporting: Reporting, settled: readonly SettledAttempt[], answer: SourceAnswer): void {
    const { answers, broken = [] } = answer as RowsAnswer
    reportRows(reporting, settled, answers)
    for (const one of broken) reportBroken(reporting, one)
  }

  begin(claim: RowClaim, services: AttemptServices): Attempt {
    return new RowAttempt(claim, this.#definitions.get(claim.discovery)!, this, services)
  }

  async completeWith({ session, attempt, effects, reporting }: Completing): Promise<Error | null> {
    const { id, fence, startedAt } = attempt
    const completed = attempt.outcome as RowOutcome & { kind: 'completed' }
    const answer = await this.#store.completeRowWith(session, { id, fence, startedAt }, completed, effects)
    reportRow(reporting, attempt, answer)
    return answer.kind === 'done' ? null : refusalOf(answer, id)
  }

  /** A table may begin with hundreds of rows that crash processes. Other rows must not wait for them. */
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

/** One attempt at a row. */
class RowAttempt extends Attempt {
  declare readonly claim: RowClaim
  declare readonly definition: DiscoveryDefinition
  readonly queue = null

  get item(): string {
    return this.id
  }

  input(): unknown {
    const { row: schema } = this.definition
    const { row, id } = this.claim
    return schema === undefined ? row : checkAgainst(schema, row, `row ${id}`)
  }

  protected handle(row: unknown): unknown {
    this.given = row
    return this.definition.run!(row, this.context)
  }

  completed(result: unknown): RowOutcome {
    const values = doneValues(this.definition, result, this.given)
    return { kind: 'completed', values, retryAfterMs: this.retryAfterMs }
  }

  /** In the transaction that completes the row: its steps belong to the version that was claimed. */
  protected override async completedSteps(outcome: RowOutcome): Promise<void> {
    await super.completedSteps(outcome)
    if (!this.settled) await this.services.completeWith(this, outcome, () => {})
  }
}

/** Not due, suspended, or in a discovery that is paused. */
const DELAYED = ['backing-off', 'suspended', 'waiting'] as const

/** What a handler is told whose own writes were undone. */
function refusalOf(answer: RowAnswer, id: string): Error {
  switch (answer.kind) {
    case 'changed':
      return new ClaimLostError(
        `${id}: the row was edited during its run; nothing was written, and the row stays eligible`,
      )
    case 'gone':
      return new ClaimLostError(`${id}: the row is gone or needs no work any more; nothing was written`)
    case 'failed':
      return new GleanerError(`${id}: ${answer.failure.message}; nothing was written`, { code: 'BAD_DONE' })
    case 'paused':
      return new GleanerError(`${id}: ${answer.reason}; nothing was written, and its discovery is paused`, {
        code: 'DISCOVERY_PAUSED',
      })
    default:
      return new ClaimLostError(`${id}: another worker holds the claim; nothing was written`)
  }
}
