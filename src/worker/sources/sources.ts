import type { Uses } from '../../define/resource.ts'
import type { Hears } from '../../store/ports/change.ts'
import type { NewSession } from '../../store/ports/sessions.ts'
import type { Batched } from '../attempt/attempt.ts'
import type { Source } from '../attempt/source.ts'

/** What is claimed for one call may belong to several. */
const GROUPS_FACTOR = 4

/** A source has either definitions whose handlers take many items, or others. */
export function batchSizeOf(definitions: Iterable<Batched>): number {
  const sizes = [...definitions].map(({ batch }) =>
    batch === null ? 0 : batch.size * (batch.by === null ? 1 : GROUPS_FACTOR),
  )
  return Math.max(0, ...sizes)
}

/** The resources of the definitions that need any. */
export function usesOf(definitions: Iterable<{ name: string; uses: Uses | null }>): [string, Uses][] {
  return [...definitions].flatMap(({ name, uses }) => (uses === null ? [] : [[name, uses]]))
}

/** All sources of a worker. The source that gave something last is asked last, so that no item waits behind those of another source forever. */
export class Sources {
  readonly #all: Source[]

  constructor(sources: readonly Source[]) {
    this.#all = [...sources]
  }

  /** What a session says that it serves. */
  get serves(): Pick<NewSession, 'queues' | 'names' | 'strategies'> & { discoveries: readonly string[] } {
    const all = this.#all.map((source) => source.serves)
    const of = (what: 'queues' | 'names' | 'discoveries') => [
      ...new Set(all.flatMap((one) => one[what] ?? [])),
    ]
    const strategies = all.find((one) => one.strategies !== undefined)?.strategies
    return {
      ...{ queues: of('queues'), names: of('names'), discoveries: of('discoveries') },
      ...(strategies !== undefined && { strategies }),
    }
  }

  /** Any program that writes a row may bring work. Tasks come from stores, which signal it. */
  get hears(): Hears {
    return this.#all.some(({ kind }) => kind === 'rows') ? 'commits' : 'signals'
  }

  /** In their order now, which may change meanwhile. */
  inTurn(): readonly Source[] {
    return this.#all.length === 1 ? this.#all : [...this.#all]
  }

  /** The other source of the same kind: the store knows the items of both together. */
  siblings(source: Source): Source[] {
    return this.#all.filter((one) => one !== source && one.kind === source.kind)
  }

  gave(source: Source): void {
    if (this.#all.length === 1) return
    this.#all.splice(this.#all.indexOf(source), 1)
    this.#all.push(source)
  }

  /** When the process was emptied for a suspect, nothing else is claimed. */
  mayAsk(source: Source): boolean {
    return source.suspectsWait || !this.suspectsWait
  }

  get suspectsWait(): boolean {
    return this.#all.some((source) => source.suspectsWait)
  }

  get haveUnsent(): boolean {
    return this.#all.some((source) => !source.outbox.isEmpty)
  }

  async haveDelayed(): Promise<boolean> {
    for (const source of this.#all) if (await source.hasDelayed()) return true
    return false
  }

  /** After the end of the session, the store accepts nothing of it. */
  dropOutboxes(): void {
    for (const source of this.#all) source.outbox.drop()
  }

  [Symbol.iterator](): Iterator<Source> {
    return this.#all.values()
  }
}
