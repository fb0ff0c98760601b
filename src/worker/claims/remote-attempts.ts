import { checkAgainst } from '../../define/schema.ts'
import type { DiscoveryRegistry } from '../../discovery/registry.ts'
import { InputError } from '../../errors.ts'
import { storable } from '../../exact-json.ts'
import { readRowId } from '../../model/row.ts'
import type { TaskRegistry } from '../../queue/registry.ts'
import type { HeldClaim } from '../../store/ports/sessions.ts'
import { messageOf } from '../../thrown.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { logEvent } from '../attempt/events.ts'
import type { AttemptServices } from '../attempt/services.ts'
import type { AttemptOutcome, Item, Source } from '../attempt/source.ts'
import { RowsSource } from '../sources/rows.ts'
import { TaskSource } from '../sources/tasks.ts'
import type { ClaimServices } from './services.ts'

const NOBODY = { queues: [], names: [], capabilities: {} }

/** Attempts of callers over HTTP, made anew from the database for each request. */
export class RemoteAttempts {
  readonly #services: ClaimServices
  readonly #registry: TaskRegistry
  readonly #discoveries: DiscoveryRegistry
  /** Rows that are not eligible any more. */
  readonly #gone = new WeakSet<Attempt>()

  constructor(services: ClaimServices, known: { registry: TaskRegistry; discoveries: DiscoveryRegistry }) {
    this.#services = services
    this.#registry = known.registry
    this.#discoveries = known.discoveries
  }

  begin(source: Source, claim: Item, worker: string): Attempt {
    return source.begin(claim, this.#runServices(worker))
  }

  async of(held: HeldClaim): Promise<Attempt> {
    const attempt = held.queue === null ? await this.#row(held) : this.#task(held, held.queue)
    const { clock } = this.#services
    attempt.startedAt = held.startedAt ?? clock.now()
    attempt.startedMs = clock.monotonicMs() - (clock.now() - attempt.startedAt)
    return attempt
  }

  /** What another language sent is checked, where the task says what it should be. Nothing is written if it is not. */
  async completed(attempt: Attempt, result: unknown): Promise<AttemptOutcome> {
    const { output } = this.#registry.get(attempt.name)!
    const checked =
      output === undefined ? result : await checkAgainst(output, result, `result of ${attempt.name}`)
    return attempt.completed(storable(checked))
  }

  /** Null: the row is gone, or was edited so that it does not fit its schema any more. */
  async rowDone(attempt: Attempt, result: unknown): Promise<AttemptOutcome | null> {
    if (this.#gone.has(attempt)) return null
    try {
      attempt.given = await attempt.input()
    } catch {
      return null
    }
    try {
      return attempt.completed(storable(result))
    } catch (error) {
      if (error instanceof InputError) throw error
      throw new InputError(`done of ${attempt.name} failed: ${messageOf(error)}`, {
        code: 'BAD_DONE',
        cause: error,
      })
    }
  }

  #task({ id, fence, name, ...held }: HeldClaim, queue: string): Attempt {
    const definition = this.#registry.get(name)
    if (definition === undefined) throw unknownHere(name, 'UNKNOWN_TASK')
    const source = new TaskSource(this.#services.store.tasks, NOBODY, new Map([[name, definition]]))
    const { attempt, overrides } = held
    const claim = {
      ...{ id, fence, name, queue, attempt, overrides, maxAttempts: held.maxAttempts! },
      ...{ input: null, key: null, createdAt: 0, started: true, suspect: false },
    }
    return source.begin(claim, this.#runServices(held.worker))
  }

  async #row({ id, fence, attempt, worker }: HeldClaim): Promise<Attempt> {
    const { discovery, key } = readRowId(id)!
    const definition = this.#discoveries.get(discovery)
    if (definition === undefined) throw unknownHere(discovery, 'UNKNOWN_DISCOVERY')
    const source = new RowsSource(this.#services.store.rows, new Map([[discovery, definition]]))
    const values = await this.#services.store.rows.rowValues(discovery, key)
    const { attempts: maxAttempts } = definition.retry
    const claim = {
      id,
      fence,
      discovery,
      key,
      row: values ?? {},
      attempt,
      maxAttempts,
      started: true,
      suspect: false,
    }
    const begun = source.begin(claim, this.#runServices(worker))
    if (values === null) this.#gone.add(begun)
    return begun
  }

  #runServices(worker: string): AttemptServices {
    const { clock, random, payloadLimit, enqueue, enqueueWithin, emitter } = this.#services
    return {
      ...{ worker, clock, random, payloadLimit, enqueue, enqueueWithin },
      steps: null,
      acquire: async () => {},
      note(attempt, line) {
        attempt.source.outbox.logged(attempt, line, clock.monotonicMs())
        emitter.emit('log', () => logEvent(attempt.event, line))
      },
      progress(attempt, fraction, message) {
        attempt.source.outbox.progress(attempt, { fraction, message }, clock.monotonicMs())
        emitter.emit('progress', () => ({ ...attempt.event, fraction, message }))
      },
      completeWith: () => Promise.reject(new TypeError('a caller over HTTP has no transaction')),
    }
  }
}

function unknownHere(name: string, code: 'UNKNOWN_TASK' | 'UNKNOWN_DISCOVERY'): InputError {
  return new InputError(`${name} is unknown to this server`, {
    code,
    hint: 'Give openGleaner the definition, or send the request to a server that has it.',
  })
}
