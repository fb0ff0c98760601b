import type { Clock } from '../../clock.ts'
import type { Enqueue } from '../../define/types.ts'
import { GleanerError, isOutage, PermanentError, ResourceError, RetryLater } from '../../errors.ts'
import type { Attempt, Batched } from '../attempt/attempt.ts'
import type { RunHooks } from '../attempt/hooks.ts'
import type { BatchCalls } from '../attempt/source.ts'
import { BatchRunContext } from './batch-context.ts'
import { findCulprits } from './culprits.ts'
import { CallEntry } from './entry.ts'

/** Items that one claim asks for at most. */
const CLAIM_MAX = 1_000

interface Group {
  readonly key: string
  readonly definition: Batched
  readonly entries: CallEntry[]
  cancelTimer: () => void
}

/** What it uses of its worker. */
interface BatchParts {
  options: { readonly concurrency: number }
  services: { readonly clock: Clock; readonly enqueue: Enqueue; readonly hooks: RunHooks }
  inFlight: { readonly running: number; setDeadline(attempt: Attempt, deadlineMs: number): void }
  polling: { nudge(): void }
}

/**
 * Which items go into one call? Each item stays an attempt of its own, which waits here for the result that its handler would have
 * returned. A call takes one slot of the worker, however many items it has.
 */
export class Batches implements BatchCalls {
  readonly #parts: BatchParts
  readonly #collecting = new Map<string, Group>()
  /** Full, or their time is over: they wait for a slot. */
  readonly #ready: Group[] = []
  #calls = 0
  /** Attempts in flight, and those of them whose call has begun. */
  #items = 0
  #called = 0

  constructor(parts: BatchParts) {
    this.#parts = parts
  }

  added(): void {
    this.#items += 1
  }

  removed(): void {
    this.#items -= 1
  }

  /** By how much attempts in flight exceed the slots that they take. */
  get folded(): number {
    return this.#items - this.#calls - this.#ready.length
  }

  /** Attempts in flight whose handler does not run, because a handler runs for many. */
  get withoutHandler(): number {
    return this.#items - this.#calls
  }

  /** How many items to claim now: enough to fill all calls that could begin. */
  request<R>(sizeMax: number, rest: R): (R & { start: number; ahead: number }) | null {
    const { options, inFlight } = this.#parts
    const others = inFlight.running - this.#items
    const room =
      (options.concurrency - others - this.#calls) * sizeMax - Math.max(0, this.#items - this.#called)
    return room <= 0 ? null : { ...rest, start: Math.min(room, CLAIM_MAX), ahead: 0 }
  }

  /** Resolves or rejects with the item's own outcome. */
  join(attempt: Attempt, input: unknown): Promise<unknown> {
    const { definition } = attempt
    const group = this.#groupOf(attempt, definition, input)
    attempt.given = input
    const entry = new CallEntry(attempt, input)
    group.entries.push(entry)
    // Its time begins with its call.
    this.#parts.inFlight.setDeadline(attempt, Number.POSITIVE_INFINITY)
    attempt.context.onAbort(() => {
      if (group.entries.includes(entry) && this.#isWaiting(group)) entry.release()
    })
    if (group.entries.length >= definition.batch!.size || attempt.claim.suspect) this.#close(group)
    return entry.result
  }

  /** The worker pauses or stops: what it has collected begins now. */
  flush(): void {
    for (const group of this.#collecting.values()) this.#close(group)
  }

  /** Begins the calls that have waited for a slot. */
  startReady(): void {
    while (this.#ready.length > 0 && this.#hasSlot) this.#start(this.#ready.shift()!)
  }

  get #hasSlot(): boolean {
    const { options, inFlight } = this.#parts
    return inFlight.running - this.#items + this.#calls < options.concurrency
  }

  #isWaiting(group: Group): boolean {
    return this.#collecting.get(group.key) === group || this.#ready.includes(group)
  }

  #groupOf(attempt: Attempt, definition: Batched, input: unknown): Group {
    const { by, waitMs } = definition.batch!
    // A suspect is alone in the process, and so in its call.
    const of = attempt.claim.suspect ? ['suspect', attempt.id] : ['by', by?.(input)]
    const key = JSON.stringify([attempt.source.kind, definition.name, ...of], readable)
    let group = this.#collecting.get(key)
    if (group === undefined) {
      const { clock } = this.#parts.services
      const created: Group = { key, definition, entries: [], cancelTimer: () => {} }
      created.cancelTimer = clock.after(waitMs, () => this.#close(created))
      this.#collecting.set(key, created)
      group = created
    }
    return group
  }

  #close(group: Group): void {
    if (this.#collecting.get(group.key) !== group) return
    this.#collecting.delete(group.key)
    group.cancelTimer()
    this.#ready.push(group)
    this.startReady()
  }

  #start(group: Group): void {
    this.#calls += 1
    this.#called += group.entries.length
    void this.#run(group).finally(() => {
      this.#calls -= 1
      this.#called -= group.entries.length
      this.startReady()
      this.#parts.polling.nudge()
    })
  }

  async #run({ definition, entries }: Group): Promise<void> {
    const call = (some: readonly CallEntry[]) => this.#call(definition, some)
    const failure = await call(entries)
    if (failure !== null) await findCulprits(entries, failure.error, call)
    for (const entry of entries) entry.release()
  }

  /** Null: each of these entries has its outcome. */
  async #call(definition: Batched, entries: readonly CallEntry[]): Promise<{ error: unknown } | null> {
    for (const entry of entries) entry.release()
    const live = entries.filter(({ isOver }) => !isOver)
    if (live.length === 0) return null
    this.#beginTime(live)
    const ctx = new BatchRunContext(live, this.#parts.services.enqueue)
    try {
      const results = await this.#handle(definition, live, ctx)
      this.#settle(live, ctx, resultsOf(definition.name, results, live.length))
      return null
    } catch (error) {
      return this.#failed(definition, { live, ctx }, error)
    }
  }

  #beginTime(entries: readonly CallEntry[]): void {
    const { services, inFlight } = this.#parts
    const nowMs = services.clock.monotonicMs()
    for (const { attempt } of entries) {
      attempt.startedMs = nowMs
      inFlight.setDeadline(attempt, nowMs + attempt.timeoutMs)
    }
  }

  #handle(definition: Batched, live: readonly CallEntry[], ctx: BatchRunContext): unknown {
    const { aroundRun } = this.#parts.services.hooks
    const inputs = live.map(({ input }) => input)
    const call = () => definition.run!(inputs, ctx)
    return aroundRun === undefined ? call() : aroundRun(ctx as never, async () => call())
  }

  #settle(live: readonly CallEntry[], { failures }: BatchRunContext, results: readonly unknown[]): void {
    live.forEach((entry, index) => {
      if (failures.has(index)) entry.reject(failures.get(index))
      else entry.resolve(results[index])
    })
  }

  /** The call threw. */
  async #failed(
    definition: Batched,
    { live, ctx }: { live: readonly CallEntry[]; ctx: BatchRunContext },
    error: unknown,
  ): Promise<{ error: unknown } | null> {
    for (const [index, failure] of ctx.failures) live[index]!.reject(failure)
    for (const entry of live) entry.release()
    const rest = live.filter(({ isOver }) => !isOver)
    if (rest.length === 0) return null
    if (isOfAll(error)) return rejectAll(rest, error)
    // Perhaps it threw because of those that were aborted, or named: the others have done nothing wrong.
    if (rest.length < live.length) return this.#call(definition, rest)
    // Their time stands still until they are called again.
    for (const { attempt } of rest) this.#parts.inFlight.setDeadline(attempt, Number.POSITIVE_INFINITY)
    return { error }
  }
}

/** Not the fault of one item, so that looking for one would only repeat the call. */
function isOfAll(error: unknown): boolean {
  return (
    error instanceof RetryLater ||
    error instanceof ResourceError ||
    error instanceof WrongResults ||
    isOutage(error)
  )
}

function rejectAll(entries: readonly CallEntry[], error: unknown): null {
  for (const entry of entries) entry.reject(error)
  return null
}

/** The same code would return the same. */
class WrongResults extends PermanentError {}

function resultsOf(name: string, results: unknown, count: number): readonly unknown[] {
  if (results === undefined) return new Array(count).fill(undefined)
  if (Array.isArray(results) && results.length === count) return results
  const returned = Array.isArray(results) ? `${results.length} results` : `no array (${typeof results})`
  throw new WrongResults(
    `${name}: run returned ${returned} for ${count} inputs`,
    new GleanerError(
      'Return one result for each input, in their order. For an item that fails, call ctx.fail(i, error).',
      {
        code: 'BAD_DEFINITION',
      },
    ),
  )
}

/** A value of `by` that JSON has no word for still names a group. */
function readable(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' || typeof value === 'symbol' ? String(value) : value
}
