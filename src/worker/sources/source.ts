import type { Outcome } from '../../model/outcome.ts'
import type { ClaimProof, Effects, Exchange, Exchanged, Want } from '../../store/contract.ts'
import type { Desk } from '../desk.ts'
import type { Execution } from '../execution.ts'
import { News } from '../news.ts'

/** What a worker knows of an item that it claimed, wherever it was found. */
export interface Item extends ClaimProof {
  name: string
  attempt: number
  maxAttempts: number
  /** Claimed to be started at once; otherwise held ahead. */
  started: boolean
  /** To be run alone. */
  suspect: boolean
}

/** How much a worker has hands for. */
export type Room = Omit<Want, 'able'>

/** What is finished, and the room for more. */
export interface Handing extends Omit<Exchange, 'want'> {
  want: Room | null
}

/** Where a worker's items come from, and where it hands in what became of them. */
export abstract class Source {
  readonly news = new News()
  /** When something that waits for its time becomes due, by the monotonic clock. */
  nextDueMs = Number.POSITIVE_INFINITY
  /** An item of it waits for an empty house. */
  suspectsWait = false

  /** Hands in what is finished, takes what is next. */
  abstract exchange(handing: Handing): Promise<Exchanged>
  /** The run of an item that this source gave. */
  abstract begin(item: Item, desk: Desk): Execution
  /** Commits the handler's own writes together with the completion. False: refused, nothing was written. */
  abstract completeWith(
    session: string,
    execution: Execution,
    outcome: Outcome,
    effects: Effects,
  ): Promise<boolean>
  /** Something is left that is not due, or blocked. */
  abstract hasDelayed(): Promise<boolean>
}
