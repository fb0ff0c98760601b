/**
 * Sessions whose last exchange found nothing out of the ordinary, so that the next one asks for everything at once. Should
 * it be wrong, nothing is done, and it is asked for again step by step: that costs a journey, never work.
 */
export class UsualSessions {
  readonly #sessions = new Set<string>()

  has(session: string): boolean {
    return this.#sessions.has(session)
  }

  note(session: string, usual: boolean): void {
    if (usual) this.#sessions.add(session)
    else this.#sessions.delete(session)
  }
}
