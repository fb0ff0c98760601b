import type { Claim } from '../store/contract.ts'

/** What was claimed together. The next one to start is the last of them. */
interface Batch {
  sinceMs: number
  claims: Claim[]
}

/** Items held ahead: claimed, and waiting for a free hand, in the order of their claims. */
export class Ahead {
  #batches: Batch[] = []
  size = 0

  /** Since when the oldest of them waits. */
  get sinceMs(): number {
    return this.#batches[0]?.sinceMs ?? Number.POSITIVE_INFINITY
  }

  get ids(): string[] {
    return this.#batches.flatMap((batch) => batch.claims.map(({ id }) => id))
  }

  add(claims: Claim[], nowMs: number): void {
    if (claims.length === 0) return
    this.#batches.push({ sinceMs: nowMs, claims: claims.reverse() })
    this.size += claims.length
  }

  next(): Claim | undefined {
    const batch = this.#batches[0]
    if (batch === undefined) return undefined
    const claim = batch.claims.pop()!
    if (batch.claims.length === 0) this.#batches.shift()
    this.size -= 1
    return claim
  }

  remove(id: string): Claim | undefined {
    const all = this.take()
    const found = all.flatMap((batch) => batch.claims.filter((claim) => claim.id === id))[0]
    for (const { claims, sinceMs } of all) {
      this.add(claims.filter((claim) => claim.id !== id).reverse(), sinceMs)
    }
    return found
  }

  /** All of them; none are left. */
  take(): Batch[] {
    this.size = 0
    return this.#batches.splice(0)
  }
}
