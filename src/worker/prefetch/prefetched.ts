import type { Item, Source } from '../attempt/source.ts'

/** A prefetched item that has not started by then goes back: another worker may be idle. */
const HELD_MAX_MS = 50
/** Unless it will start soon: on a busy machine the store takes its time, and to claim the item again would take longer. */
const STARTS_SOON_MAX_MS = 150
/** A process that checks this much later than it wanted to was not running. */
const AWAY_MS = 25

/** Items that were claimed together. The next one to start is the last of them. */
interface Batch {
  sinceMs: number
  /** When the worker asked for them. */
  askedMs: number
  /** How many items of all batches had started by then. */
  startedBefore: number
  /** When a check first saw that it waits for too long. */
  staleSinceMs?: number
  source: Source
  claims: Item[]
}

/** Which items wait for a free slot? They start in the order of their claims, and go back if they wait for too long. */
export class Prefetched {
  #batches: Batch[] = []
  #started = 0
  size = 0

  /** Since when the oldest item waits. */
  get sinceMs(): number {
    return this.#batches[0]?.sinceMs ?? Number.POSITIVE_INFINITY
  }

  /** When the worker asked for the next item. */
  get askedMs(): number {
    return this.#batches[0]?.askedMs ?? Number.POSITIVE_INFINITY
  }

  /** The source of the next item. */
  get source(): Source | undefined {
    return this.#batches[0]?.source
  }

  ids(source: Source): string[] {
    const batches = this.#batches.filter((batch) => batch.source === source)
    return batches.flatMap((batch) => batch.claims.map(({ id }) => id))
  }

  add(claims: Item[], source: Source, nowMs: number, askedMs: number): void {
    if (claims.length === 0) return
    const startedBefore = this.#started
    this.#batches.push({ sinceMs: nowMs, askedMs, startedBefore, source, claims: claims.reverse() })
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
    for (const { claims, source, sinceMs, askedMs } of all) {
      const item = claims.find((claim) => claim.id === id)
      if (item !== undefined) found = { item, source }
      this.add(claims.filter((claim) => claim.id !== id).reverse(), source, sinceMs, askedMs)
    }
    return found
  }

  /** Removes and returns all items. */
  take(): Batch[] {
    this.size = 0
    return this.#batches.splice(0)
  }

  /** The oldest item has waited for too long, and will not start soon. */
  isStale(nowMs: number): boolean {
    const [oldest] = this.#batches
    if (oldest === undefined) return false
    const heldMs = nowMs - oldest.sinceMs
    if (heldMs < HELD_MAX_MS) return false
    if (heldMs < STARTS_SOON_MAX_MS && this.#lastStartsInMs(oldest, nowMs) <= HELD_MAX_MS) return false
    oldest.staleSinceMs ??= nowMs
    // A process that had no processor for a while gets a moment to start its items: to return and claim them again would take longer.
    const wasAway = oldest.staleSinceMs - oldest.sinceMs >= HELD_MAX_MS + AWAY_MS
    return !wasAway || nowMs - oldest.staleSinceMs >= AWAY_MS
  }

  /** When to look again whether the oldest item is stale. */
  checkInMs(nowMs: number): number {
    const heldMs = nowMs - this.sinceMs
    if (heldMs < HELD_MAX_MS) return HELD_MAX_MS - heldMs
    return heldMs < STARTS_SOON_MAX_MS ? STARTS_SOON_MAX_MS - heldMs : AWAY_MS
  }

  /** When the last item starts, if items start as often as they did since the oldest batch arrived. */
  #lastStartsInMs(oldest: Batch, nowMs: number): number {
    const started = this.#started - oldest.startedBefore
    return started === 0 ? Number.POSITIVE_INFINITY : (this.size * (nowMs - oldest.sinceMs)) / started
  }
}
