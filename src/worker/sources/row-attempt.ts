import type { DiscoveryDefinition } from '../../define/discovery.ts'
import type { Uses } from '../../define/resource.ts'
import { checkAgainst } from '../../define/schema.ts'
import { doneValues } from '../../discovery/done.ts'
import type { RetryPolicy } from '../../model/retry.ts'
import type { RowOutcome } from '../../model/row.ts'
import type { RowClaim } from '../../store/contract.ts'
import { Attempt } from '../attempt.ts'
import type { RunServices } from '../run-services.ts'
import type { Source } from './source.ts'

/** One run of one row. */
export class RowAttempt extends Attempt {
  declare readonly claim: RowClaim
  readonly #definition: DiscoveryDefinition
  /** As its schema made it. */
  #row: unknown

  constructor(claim: RowClaim, definition: DiscoveryDefinition, source: Source, services: RunServices) {
    super(claim, source, definition.timeoutMs, services)
    this.#definition = definition
  }

  get name(): string {
    return this.#definition.name
  }

  get item(): string {
    return this.claim.id
  }

  get uses(): Uses | null {
    return this.#definition.uses
  }

  get queue(): null {
    return null
  }

  get retry(): RetryPolicy {
    return this.#definition.retry
  }

  get carrier(): null {
    return null
  }

  protected input(): unknown {
    const { row: schema } = this.#definition
    const { row, id } = this.claim
    return schema === undefined ? row : checkAgainst(schema, row, `row ${id}`)
  }

  protected handle(row: unknown): unknown {
    this.#row = row
    return this.#definition.run!(row, this.context)
  }

  completed(result: unknown): RowOutcome {
    const values = doneValues(this.#definition, result, this.#row)
    return { kind: 'completed', values, retryAfterMs: this.retryAfterMs }
  }
}
