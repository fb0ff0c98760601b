import type { ClaimProof, Exchange, Exchanged } from '../../ports/exchange.ts'

/**
 * What was claimed together has a row in the database, by which it is found when its session ends. This book knows when
 * all of a batch is settled, so that its row can go: each task by its id, because a worker may hand in the same one twice,
 * and a row that goes too early would leave a task in the hands of nobody. Should the book not know (an answer was lost),
 * the row stays for as long as the session lives, and is in nobody's way: the task's own row says who holds it.
 */
export class HeldBatches {
  /** By session and fence: the tasks that are still in its hands. */
  readonly #unsettled = new Map<string, Map<number, Set<string>>>()

  /** After its commit: what was handed in, or refused, is in its hands no more. `removed`: batches whose rows are gone. */
  exchanged(
    { session, outcomes, starts }: Exchange,
    { claims, refused, sessionEnded }: Exchanged,
    removed: readonly number[],
  ): void {
    if (sessionEnded) return this.ended(session)
    for (const fence of removed) this.#unsettled.get(session)?.delete(fence)
    this.settled(session, outcomes)
    if (refused.length > 0) {
      const lost = new Set(refused)
      this.settled(
        session,
        starts.filter(({ id }) => lost.has(id)),
      )
    }
    this.#claimed(session, claims)
  }

  #claimed(session: string, claims: readonly ClaimProof[]): void {
    if (claims.length === 0) return
    const batches = this.#unsettled.get(session) ?? new Map<number, Set<string>>()
    this.#unsettled.set(session, batches)
    for (const { id, fence } of claims) {
      const tasks = batches.get(fence)
      if (tasks === undefined) batches.set(fence, new Set([id]))
      else tasks.add(id)
    }
  }

  /** After a commit: these are in its hands no more. */
  settled(session: string, proofs: readonly ClaimProof[]): void {
    const batches = this.#unsettled.get(session)
    for (const { id, fence } of proofs) batches?.get(fence)?.delete(id)
  }

  /**
   * The fences of batches of which nothing is left once these are handed in: taken or refused, no claim of theirs is held
   * then, so that the same transaction may remove their rows.
   */
  spent({ session, outcomes }: Pick<Exchange, 'session' | 'outcomes'>): number[] {
    const batches = this.#unsettled.get(session)
    if (batches === undefined) return []
    const handedIn = new Map<number, Set<string>>()
    let [last, ids]: [number | undefined, Set<string> | undefined] = [undefined, undefined]
    for (const { id, fence } of outcomes) {
      // Most are of the same batch as the one before.
      if (fence !== last) {
        last = fence
        ids = handedIn.get(fence) ?? new Set()
        handedIn.set(fence, ids)
      }
      if (batches.get(fence)?.has(id)) ids!.add(id)
    }
    return [...batches].flatMap(([fence, { size }]) =>
      (handedIn.get(fence)?.size ?? 0) === size ? [fence] : [],
    )
  }

  ended(session: string): void {
    this.#unsettled.delete(session)
  }
}
