/** Of the live sessions of all processes, whose turn it is to take what somebody enqueued. */
export class Neighbours {
  readonly #own = new Set<string>()
  #seen: readonly string[] = []

  opened(session: string): void {
    this.#own.add(session)
  }

  ended(session: string): void {
    this.#own.delete(session)
  }

  /** All live sessions, as they were just read. */
  saw<S extends { id: string; leaseMs: number | null }>(sessions: S[]): S[] {
    this.#seen = sessions.filter(({ leaseMs }) => leaseMs === null).map(({ id }) => id)
    return sessions
  }

  get areHere(): boolean {
    return this.#own.size > 0
  }

  /** Each process puts them in the same order, another one for each seed, and finds the places of its own sessions. */
  placesOf(seed: string): { count: number; own: number[] } {
    const all = [...new Set([...this.#seen, ...this.#own])]
    const order = all.map((id) => ({ id, by: hashOf(`${seed} ${id}`) })).sort((a, b) => a.by - b.by)
    return { count: all.length, own: order.flatMap(({ id }, place) => (this.#own.has(id) ? [place] : [])) }
  }
}

/** FNV-1a, mixed at the end: numbers that differ in the last digit must not stay beside each other. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}
