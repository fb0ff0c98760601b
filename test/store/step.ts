import fc from 'fast-check'

/** Does the same to both, and says in words what it did. */
export type Act<Model, Real> = (model: Model, real: Real) => Promise<string>

/** One command of a random sequence. A sequence that fails is printed as the sentences of its steps. */
export class Step<Model extends object, Real> implements fc.AsyncCommand<Model, Real> {
  readonly #intent: string
  readonly #act: Act<Model, Real>
  readonly #agree: (model: Model, real: Real) => Promise<void>
  #said: string | undefined

  /** `agree`: what must be true of both after each step. */
  constructor(intent: string, act: Act<Model, Real>, agree: (model: Model, real: Real) => Promise<void>) {
    this.#intent = intent
    this.#act = act
    this.#agree = agree
  }

  check(): boolean {
    return true
  }

  async run(model: Model, real: Real): Promise<void> {
    this.#said = await this.#act(model, real)
    await this.#agree(model, real)
  }

  /** What is said belongs to one run: a shrunk sequence uses the same steps again. */
  [fc.cloneMethod](): Step<Model, Real> {
    return new Step(this.#intent, this.#act, this.#agree)
  }

  toString(): string {
    return this.#said ?? `${this.#intent}: here they differ`
  }
}
