import type { Item, Source } from '../sources/source.ts'

/** What was claimed together. The next one to start is the last of them. */
interface Batch {
  sinceMs: number
  /** Items of whatever batch that had been started by then. */
  startedBefore: number
  /** When it was first seen that it waits for too long. */
  oldSinceMs?: number
  source: Source
  claims: Item[]
}

/** How those who wait for a free hand get on. */
export type Line = Pick<Prefetched, 'size' | 'sinceMs' | 'lastsMs' | 'oldSinceMs'>

/** Items held ahead: claimed, and waiting for a free hand, in the order of their claims. */
export class Prefetched {
  #batches: Batch[] = []
  #started = 0
  size = 0

  /** Since when the oldest of them waits. */
  get sinceMs(): number {
    return this.#batches[0]?.sinceMs ?? Number.POSITIVE_INFINITY
  }

  /** How long the last of them will have to wait, should it go on as it did since the oldest came. */
  lastsMs(nowMs: number): number {
    const [oldest] = this.#batches
    if (oldest === undefined) return 0
    const started = this.#started - oldest.startedBefore
    return started === 0 ? Number.POSITIVE_INFINITY : (this.size * (nowMs - oldest.sinceMs)) / started
  }

  /** When it was first seen that the oldest of them waits for too long. */
  oldSinceMs(nowMs: number): number {
    const [oldest] = this.#batches
    if (oldest === undefined) return nowMs
    oldest.oldSinceMs ??= nowMs
    return oldest.oldSinceMs
  }

  /** Of the one that is next. */
  get source(): Source | undefined {
    return this.#batches[0]?.source
  }

  ids(source: Source): string[] {
    const batches = this.#batches.filter((batch) => batch.source === source)
    return batches.flatMap((batch) => batch.claims.map(({ id }) => id))
  }

  add(claims: Item[], source: Source, nowMs: number): void {
    if (claims.length === 0) return
    this.#batches.push({ sinceMs: nowMs, startedBefore: this.#started, source, claims: claims.reverse() })
    this.size += claims.length
  }

  next(): Item | undefined {
    const batch = this.#batches[0]
    if (batch === undefined) return undefined
    const claim = batch.claims.pop()!
    if (batch.claims.length === 0) this.#batches.shift()
    this.size -= 1
    this.#started += 1
    return claim
  }

  remove(id: string): { item: Item; source: Source } | undefined {
    const all = this.take()
    let found: { item: Item; source: Source } | undefined
    for (const { claims, source, sinceMs } of all) {
      const item = claims.find((claim) => claim.id === id)
      if (item !== undefined) found = { item, source }
      this.add(claims.filter((claim) => claim.id !== id).reverse(), source, sinceMs)
    }
    return found
  }

  /** All of them; none are left. */
  take(): Batch[] {
    this.size = 0
    return this.#batches.splice(0)
  }
}
