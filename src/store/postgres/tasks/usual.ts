/**
 * Sessions whose last exchange found nothing out of the ordinary, so that the next one asks for everything at once. Should
 * it be wrong, nothing is done, and it is asked for again step by step: that costs a round trip, never work.
 */
export class UsualSessions {
  /** With whether no other session lived then. */
  readonly #sessions = new Map<string, boolean>()

  has(session: string): boolean {
    return this.#sessions.has(session)
  }

  isAlone(session: string): boolean {
    return this.#sessions.get(session) === true
  }

  note(session: string, usual: boolean, alone: boolean): void {
    if (usual) this.#sessions.set(session, alone)
    else this.#sessions.delete(session)
  }
}
