import type { Hears } from '../../store/contract.ts'
import type { Source } from './source.ts'

/** All that a worker takes from. Who gave something last is asked last: nobody's work waits behind another's for ever. */
export class Sources {
  readonly #all: Source[]

  constructor(sources: readonly Source[]) {
    this.#all = [...sources]
  }

  /** What a session says that it serves. */
  get serve(): { queues: readonly string[]; names: readonly string[]; discoveries: readonly string[] } {
    const nothing = { queues: [], names: [], discoveries: [] }
    return Object.assign(nothing, ...this.#all.map((source) => source.serves))
  }

  /** Whatever program writes a row may bring work. Tasks come from stores, which signal it. */
  get hears(): Hears {
    return this.#all.some(({ kind }) => kind === 'rows') ? 'commits' : 'signals'
  }

  /** As they are now, though their order may change meanwhile. */
  inTurn(): readonly Source[] {
    return this.#all.length === 1 ? this.#all : [...this.#all]
  }

  gave(source: Source): void {
    if (this.#all.length === 1) return
    this.#all.splice(this.#all.indexOf(source), 1)
    this.#all.push(source)
  }

  /** The house was emptied for a suspect: nothing else is asked for then. */
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

  /** The session is gone: nobody would accept any of it. */
  dropOutboxes(): void {
    for (const source of this.#all) source.outbox.drop()
  }

  [Symbol.iterator](): Iterator<Source> {
    return this.#all.values()
  }
}
