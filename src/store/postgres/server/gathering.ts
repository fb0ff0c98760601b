import { GleanerError } from '../../../errors.ts'

/** Tasks of one statement at most. */
const TASKS_MAX = 5_000

interface Call<Item, Answer> {
  items: readonly Item[]
  resolve: (answers: Answer[]) => void
  reject: (error: unknown) => void
}

/** Calls that come while another is under way go together: one statement, one commit, one sync for all. */
export class Gathering<Item, Answer> {
  readonly #together: (items: readonly Item[]) => Promise<Answer[]>
  #calls: Call<Item, Answer>[] = []
  #busy = false

  constructor(together: (items: readonly Item[]) => Promise<Answer[]>) {
    this.#together = together
  }

  add(items: readonly Item[]): Promise<Answer[]> {
    return new Promise((resolve, reject) => {
      this.#calls.push({ items, resolve, reject })
      if (this.#busy) return
      this.#busy = true
      setImmediate(() => void this.#work())
    })
  }

  async #work(): Promise<void> {
    while (this.#calls.length > 0) await this.#answer(this.#nextGroup())
    this.#busy = false
  }

  #nextGroup(): Call<Item, Answer>[] {
    let size = 0
    const end = this.#calls.findIndex((call, i) => {
      size += call.items.length
      return i > 0 && size > TASKS_MAX
    })
    return this.#calls.splice(0, end === -1 ? this.#calls.length : end)
  }

  async #answer(group: Call<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#together(group.flatMap((call) => call.items))
      let from = 0
      for (const call of group) {
        call.resolve(answers.slice(from, from + call.items.length))
        from += call.items.length
      }
    } catch (error) {
      // One bad call must not fail the others: each is tried alone. Not when all may be there already: they would be twice.
      if (group.length > 1 && !isInDoubt(error)) for (const call of group) await this.#answer([call])
      else for (const call of group) call.reject(error)
    }
  }
}

/** The connection broke, and nobody knows whether the commit went through. */
function isInDoubt(error: unknown): boolean {
  return error instanceof GleanerError && error.code === 'STORE_AWAY'
}
