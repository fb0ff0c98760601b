/** Wraps each call of a resource's code: how a test's own time knows of it. */
type Around = <T>(resource: string, call: () => Promise<T>) => Promise<T>

/** The calls of resources' code that are under way. */
export class Calls {
  underWay = 0
  #around: Around = (_, call) => call()
  #onEnd = () => {}

  watch(around: Around, onEnd: () => void): void {
    this.#around = around
    this.#onEnd = onEnd
  }

  async make<T>(resource: string, call: () => Promise<T>): Promise<T> {
    this.underWay += 1
    try {
      return await this.#around(resource, call)
    } finally {
      this.underWay -= 1
      this.#onEnd()
    }
  }
}
