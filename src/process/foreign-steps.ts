import { SignalTimeout } from '../errors.ts'
import type { RunContext } from '../worker/attempt/context.ts'
import type { DurableMessage, ToProgram } from './foreign-protocol.ts'

/** The steps of a run whose handler is a program: it asks, and is answered. */
export class ForeignSteps {
  readonly #ctx: DurableContext
  readonly #say: (message: ToProgram) => void
  /** A step that the program was told to do: what it answers is its result. */
  readonly #doing = new Map<string, (result: unknown) => void>()

  constructor(ctx: DurableContext, say: (message: ToProgram) => void) {
    this.#ctx = ctx
    this.#say = say
  }

  /** Rejects with why the run fails. If the run waits, the promise is never settled. */
  async heed(message: DurableMessage): Promise<void> {
    const { id, name } = message
    switch (message.type) {
      case 'keep':
        this.#doing.get(name)?.(message.result)
        this.#doing.delete(name)
        return
      case 'step': {
        const result = await this.#ctx.step(name, () => this.#done(id, name))
        return this.#say({ type: 'kept', id, name, result: result ?? null })
      }
      case 'sleep':
        await this.#ctx.sleep(name, message.ms)
        return this.#say({ type: 'slept', id, name })
      case 'wait':
        return this.#wait(id, name, message.timeoutMs)
    }
  }

  async #wait(id: string, name: string, timeoutMs: number | null): Promise<void> {
    try {
      const payload = await this.#ctx.waitFor(name, timeoutMs === null ? {} : { timeout: timeoutMs })
      this.#say({ type: 'signal', id, name, payload: payload ?? null })
    } catch (error) {
      if (!(error instanceof SignalTimeout)) throw error
      this.#say({ type: 'timed_out', id, name })
    }
  }

  #done(id: string, name: string): Promise<unknown> {
    this.#say({ type: 'do', id, name })
    return new Promise((resolve) => this.#doing.set(name, resolve))
  }
}

/** What a run has for its steps. */
export type DurableContext = Pick<RunContext, 'step' | 'sleep' | 'waitFor' | 'onLeave'>
