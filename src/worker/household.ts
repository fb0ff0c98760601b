import type { Hands } from './hands.ts'

/**
 * The workers of one process, which live and die together. A suspect runs alone in the process: if it takes it down,
 * nobody else can be blamed, and nobody else suffers.
 */
export class Household {
  readonly #members = new Map<Hands, { yieldsToSuspect: boolean }>()
  #turn: Promise<unknown> = Promise.resolve()

  join(hands: Hands): void {
    this.#members.set(hands, { yieldsToSuspect: false })
  }

  leave(hands: Hands): void {
    this.#members.delete(hands)
  }

  /** Nobody holds anything. */
  get isEmpty(): boolean {
    return [...this.#members.keys()].every((hands) => hands.running === 0 && hands.ahead === 0)
  }

  get runsSuspect(): boolean {
    return [...this.#members.keys()].some((hands) => hands.runsSuspect)
  }

  /** A suspect waits for this process to be empty. */
  get yieldsToSuspect(): boolean {
    return [...this.#members.values()].some((member) => member.yieldsToSuspect)
  }

  suspectsWaiting(hands: Hands, waiting: boolean): void {
    const member = this.#members.get(hands)
    if (member !== undefined) member.yieldsToSuspect = waiting
  }

  /** One claim at a time: whoever asks "is everybody empty?" must not be overtaken by another's claim. */
  inTurn<T>(claim: () => Promise<T>): Promise<T> {
    if (this.#members.size < 2) return claim()
    const turn = this.#turn.then(claim)
    this.#turn = turn.catch(() => {})
    return turn
  }
}
