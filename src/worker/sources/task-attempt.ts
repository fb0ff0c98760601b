import { encodePayload } from '../../define/payload.ts'
import type { Uses } from '../../define/resource.ts'
import { checkAgainst } from '../../define/schema.ts'
import type { TaskDefinition } from '../../define/task.ts'
import type { Carrier } from '../../define/telemetry.ts'
import { readExactly } from '../../exact-json.ts'
import type { Outcome } from '../../model/outcome.ts'
import type { RetryPolicy } from '../../model/retry.ts'
import type { Claim } from '../../store/contract.ts'
import { Attempt } from '../attempt.ts'
import type { RunServices } from '../run-services.ts'
import type { Source } from './source.ts'

/** One run of one task. */
export class TaskAttempt extends Attempt {
  declare readonly claim: Claim
  readonly #definition: TaskDefinition

  constructor(claim: Claim, definition: TaskDefinition, source: Source, services: RunServices) {
    super(claim, source, claim.overrides?.timeoutMs ?? definition.timeoutMs, services)
    this.#definition = definition
  }

  get name(): string {
    return this.claim.name
  }

  get item(): string {
    return `${this.claim.name}/${this.claim.id}`
  }

  get uses(): Uses | null {
    return this.#definition.uses
  }

  get queue(): string {
    return this.claim.queue
  }

  get retry(): RetryPolicy {
    return { ...this.#definition.retry, ...this.claim.overrides?.retry }
  }

  get carrier(): Carrier | null {
    return this.claim.overrides?.trace ?? null
  }

  protected input(): unknown {
    const { input: schema, name } = this.#definition
    const input = this.claim.input === null ? undefined : readExactly(this.claim.input)
    return schema === undefined ? input : checkAgainst(schema, input, `input of ${name}`)
  }

  protected handle(input: unknown): unknown {
    return this.#definition.run!(input, this.context)
  }

  completed(result: unknown): Outcome {
    const what = `result of ${this.#definition.name}`
    return {
      kind: 'completed',
      result: encodePayload(result, what, this.services.payloadLimit, 'RESULT_TOO_LARGE'),
    }
  }
}
