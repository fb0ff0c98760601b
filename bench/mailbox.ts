/** Messages by name, kept until somebody asks for them: neither side of a pipe has to be first. */
export class Mailbox {
  readonly #arrived = new Map<string, unknown[]>()
  readonly #awaited = new Map<string, PromiseWithResolvers<unknown>[]>()
  #failure: Error | undefined

  deliver(name: string, value: unknown): void {
    const reader = this.#awaited.get(name)?.shift()
    if (reader) reader.resolve(value)
    else listOf(this.#arrived, name).push(value)
  }

  take(name: string): Promise<unknown> {
    const arrived = this.#arrived.get(name)
    if (arrived && arrived.length > 0) return Promise.resolve(arrived.shift())
    if (this.#failure) return Promise.reject(this.#failure)
    const reader = Promise.withResolvers<unknown>()
    listOf(this.#awaited, name).push(reader)
    return reader.promise
  }

  /** Nothing will come any more: whoever waits, or asks later for what never came, is told why. */
  close(failure: Error): void {
    this.#failure = failure
    for (const readers of this.#awaited.values()) for (const reader of readers) reader.reject(failure)
    this.#awaited.clear()
  }
}

function listOf<T>(lists: Map<string, T[]>, name: string): T[] {
  const list = lists.get(name) ?? []
  lists.set(name, list)
  return list
}
