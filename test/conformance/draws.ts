/** The same numbers each time: a test of chance that fails must fail again. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** One in a thousand goes beyond it by chance, by the number of classes. */
const CHI_SQUARE_LIMITS: Record<number, number> = { 2: 10.83, 3: 13.82, 4: 16.27, 5: 18.47, 6: 20.52 }

/**
 * Draws from sets that change: how often each priority came, against how often it should have. What differs is weighed by
 * how much chance there was in each draw, which makes it a chi-square with one degree of freedom less than priorities.
 */
export class Draws {
  readonly waiting = new Map<number, number>()
  readonly #priorities: readonly number[]
  readonly #excess: number[]
  readonly #spread: number[][]
  count = 0

  constructor(priorities: readonly number[]) {
    this.#priorities = priorities
    this.#excess = priorities.map(() => 0)
    this.#spread = priorities.map(() => priorities.map(() => 0))
    for (const priority of priorities) this.waiting.set(priority, 0)
  }

  /** Joins those that can be drawn. */
  join(priority: number, count = 1): void {
    this.waiting.set(priority, this.waiting.get(priority)! + count)
  }

  /** One of this priority was drawn. */
  drew(priority: number): void {
    const weights = this.#priorities.map((one) => this.waiting.get(one)! / one)
    const whole = weights.reduce((a, b) => a + b, 0)
    const chances = weights.map((weight) => weight / whole)
    chances.forEach((chance, i) => {
      this.#excess[i]! += (this.#priorities[i] === priority ? 1 : 0) - chance
      chances.forEach((other, j) => {
        this.#spread[i]![j]! += (i === j ? chance : 0) - chance * other
      })
    })
    this.join(priority, -1)
    this.count += 1
  }

  /** Unless something happened that happens once in a thousand times. */
  get isAsExpected(): boolean {
    return this.chiSquare < this.limit
  }

  get chiSquare(): number {
    // One of them follows from the others.
    const size = this.#priorities.length - 1
    const excess = this.#excess.slice(0, size)
    const solved = solve(
      this.#spread.slice(0, size).map((row) => row.slice(0, size)),
      excess,
    )
    return excess.reduce((sum, value, i) => sum + value * solved[i]!, 0)
  }

  get limit(): number {
    return CHI_SQUARE_LIMITS[this.#priorities.length]!
  }
}

/** Gaussian elimination; the matrix is symmetric and positive. */
function solve(matrix: number[][], values: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, values[i]!])
  for (const [i, pivot] of rows.entries()) {
    for (const [j, row] of rows.entries()) {
      if (i === j) continue
      const factor = row[i]! / pivot[i]!
      pivot.forEach((value, k) => {
        row[k]! -= factor * value
      })
    }
  }
  return rows.map((row, i) => row.at(-1)! / row[i]!)
}
