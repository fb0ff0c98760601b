/** After a whole round over so many rows that were all kept back, others have the machine for a while. */
const COSTLY_ROUND = 5_000
const REST_FACTOR = 4

/** A step of a walk: how many rows there were, and the place of the last of them. */
export interface ScannedStep {
  examined: number
  place: string | null
  atEnd: boolean
}

/**
 * Where a store looks for the next rows of a discovery: behind the last one it found. What is kept back at the head is so not
 * walked over each time. Where the user gave an order, the head is looked at first: something more urgent may have come.
 */
export class ScanCursor {
  readonly #headFirst: boolean
  #position: string | null = null
  #heard: string | null = null
  #restsUntilMs = Number.NEGATIVE_INFINITY

  constructor(headFirst: boolean) {
    this.#headFirst = headFirst
  }

  /** Behind which places to look, in this order; null: from the beginning. */
  places(): (string | null)[] {
    return this.#headFirst && this.#position !== null ? [null, this.#position] : [this.#position]
  }

  found(place: string | null): void {
    this.#position = place
  }

  /** Where others are, if they went on: behind them, what they hold is not walked over. */
  hear(place: string | null): void {
    if (place === this.#heard) return
    this.#heard = place
    this.#position = place
  }

  /** A round over everything that this store may find. Thorough: however costly the last one was. */
  round(nowMs: number, thorough: boolean): ScanRound {
    const rests = !thorough && nowMs < this.#restsUntilMs
    const legs = this.places().map((from) => ({ from, short: rests && from === null && this.#headFirst }))
    if (this.#headFirst && !rests) return new ScanRound(this, [{ from: null, short: false }])
    if (!rests && this.#position !== null) legs.push({ from: null, short: false })
    return new ScanRound(this, legs)
  }

  /** What comes in behind the position is found at any time; a whole round after a costly one has to wait. */
  rest(workMs: number, nowMs: number): void {
    this.#restsUntilMs = nowMs + workMs * REST_FACTOR
  }

  restsMs(nowMs: number): number {
    return Math.max(0, this.#restsUntilMs - nowMs)
  }
}

/** `short`: a single step of it. */
interface Leg {
  from: string | null
  short: boolean
}

/** A walk in bounded steps: from the hand's position to the end, and then everything from the beginning. */
export class ScanRound {
  readonly #hand: ScanCursor
  readonly #legs: Leg[]
  #examined = 0
  #workMs = 0

  constructor(hand: ScanCursor, legs: Leg[]) {
    this.#hand = hand
    this.#legs = legs
  }

  get isOver(): boolean {
    return this.#legs.length === 0
  }

  get position(): string | null {
    return this.#legs[0]!.from
  }

  /** There is something here to claim. */
  found(): void {
    this.#hand.found(this.position)
  }

  /** There was nothing; to see that took so long. */
  passed({ examined, place, atEnd }: ScannedStep, workMs: number, nowMs: number): void {
    const leg = this.#legs[0]!
    this.#workMs += workMs
    this.#examined += examined
    leg.from = place ?? leg.from
    if (!atEnd && !leg.short) return
    this.#legs.shift()
    if (!this.isOver) return
    // Whatever comes in behind it is found without walking over all that is kept back.
    this.#hand.found(leg.from)
    if (this.#examined > COSTLY_ROUND) this.#hand.rest(this.#workMs, nowMs)
  }
}
