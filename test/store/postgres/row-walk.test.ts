import { expect, test } from 'vitest'
import {
  ScanCursor,
  type ScannedStep,
  type ScanResult,
} from '../../../src/store/postgres/rows/scan-cursor.ts'

const ROWS = 1_000
const TOLD_MIN = 50

/** A table of rows in a line, of which some are free, and a walk along it that answers as the store would. */
class Line {
  readonly walk: ScanCursor
  readonly free: Set<number>
  length: number
  nowMs = 0
  wakes = 0
  examined = 0
  steps = 0
  /** Where the last large claim of anybody ended. */
  told: string | null = null

  constructor(length: number, free: readonly number[] = [], headFirst = false) {
    this.walk = new ScanCursor('index', headFirst)
    this.length = length
    this.free = new Set(free)
  }

  look(count: number, thorough = false): { taken: number[]; walked: ScanResult } {
    const steps = this.walk.look({ count, thorough, wakes: this.wakes, nowMs: () => this.nowMs })
    const taken: number[] = []
    let step = steps.next()
    while (!step.done) {
      const { behind, heard, tells, rows } = step.value
      const isNews = behind !== null && heard !== undefined && this.told !== heard
      const place = isNews ? (this.told ?? behind) : behind
      const from = place === null ? 0 : Number(place) + 1
      const stepped = this.#step(from, rows, count - taken.length, taken)
      if (tells && stepped.found >= TOLD_MIN) this.told = stepped.place
      step = steps.next({ ...stepped, told: this.told })
    }
    return { taken, walked: step.value }
  }

  #step(from: number, rows: number, count: number, taken: number[]): Omit<ScannedStep, 'told'> {
    this.steps += 1
    this.nowMs += 1
    const found: number[] = []
    let at = from
    for (; at < Math.min(this.length, from + rows) && found.length < count; at++) {
      if (this.free.delete(at)) found.push(at)
    }
    this.examined += at - from
    taken.push(...found)
    const last = found.length < count && from + rows <= this.length ? String(from + rows - 1) : null
    return { found: found.length, place: found.length === 0 ? null : String(found.at(-1)), last }
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n)
}

test('behind 100 000 that are kept back, a claim looks at what it takes', () => {
  const line = new Line(110_000, range(100_000, 110_000))
  const looks = range(0, 100).findIndex(() => line.look(1).taken.length > 0)
  expect(looks).toBeGreaterThan(0)
  line.examined = 0
  for (let n = 0; n < 100; n++) expect(line.look(1).taken).toHaveLength(1)
  expect(line.examined).toBe(100)
})

test('what comes in at the end is found in one step, whatever is kept back before it', () => {
  const line = new Line(50_000)
  while (line.look(1).walked !== 'over');
  line.steps = 0
  line.free.add(line.length)
  line.length += 1
  expect(line.look(1).taken).toEqual([50_000])
  expect(line.steps).toBe(1)
})

test('what comes in before the place it has reached is found when nothing is behind it', () => {
  const line = new Line(10, range(0, 10))
  expect(line.look(10).taken).toHaveLength(10)
  line.free.add(3)
  expect(line.look(1).taken).toEqual([3])
})

test('what comes back while a round finds others is not taken for nothing', () => {
  const line = new Line(10, range(0, 10))
  line.look(10)
  line.free.add(5)
  line.nowMs += 2_000
  expect(line.look(1).taken).toEqual([5])
  line.free.add(2)
  expect(line.look(1).taken).toEqual([2])
})

test('a look is bounded, and says that it is not finished', () => {
  const line = new Line(100_000)
  const { taken, walked } = line.look(1)
  expect(taken).toEqual([])
  expect(walked).toBe('unfinished')
  expect(line.examined).toBeLessThan(25 * ROWS)
})

test('a thorough look leaves nothing out, however much is kept back', () => {
  const line = new Line(100_000, [77_777])
  expect(line.look(1, true).taken).toEqual([77_777])
  expect(line.look(1, true).walked).toBe('over')
})

test('a round over many that brought nothing is not repeated at once', () => {
  const line = new Line(20_000)
  for (let look = 0; look < 10; look++) line.look(1)
  const before = line.examined
  expect(line.look(1).walked).toBe('over')
  expect(line.walk.restsMs(line.nowMs)).toBeGreaterThan(0)
  expect(line.examined - before).toBeLessThan(2 * ROWS)
  line.free.add(7)
  line.nowMs += 10_000
  while (line.look(1).taken.length === 0);
})

test('a round during which something was told of is walked once more', () => {
  const line = new Line(30_000)
  expect(line.look(1).walked).toBe('unfinished')
  line.free.add(5)
  line.wakes += 1
  const found: number[] = []
  for (let look = 0; look < 10 && found.length === 0; look++) {
    const { taken, walked } = line.look(1)
    found.push(...taken)
    if (found.length === 0) expect(walked).toBe('unfinished')
  }
  expect(found).toEqual([5])
})

test('those before the front have their turn although there is always something at it', () => {
  const line = new Line(1_000_000, range(0, 1_000_000))
  line.look(10)
  line.free.add(4)
  const taken: number[] = []
  for (let look = 0; look < 30; look++) {
    line.nowMs += 100
    taken.push(...line.look(10).taken)
  }
  expect(taken).toContain(4)
})

test('in an order of the user, what is first now is taken first', () => {
  const line = new Line(10, [6, 8], true)
  expect(line.look(1).taken).toEqual([6])
  line.free.add(2)
  expect(line.look(2).taken).toEqual([2, 8])
})

test('and what is kept back at its head is passed once a second, not each time', () => {
  const line = new Line(5_000, range(3_000, 5_000), true)
  for (let look = 0; line.look(1).taken.length === 0; look++) expect(look).toBeLessThan(5)
  line.examined = 0
  for (let n = 0; n < 50; n++) expect(line.look(1).taken).toHaveLength(1)
  expect(line.examined).toBeLessThan(3 * ROWS)
})

test('who goes where others are passes what is kept back behind them once', () => {
  const line = new Line(100_000, [0, ...range(50_000, 50_010)])
  line.look(1)
  line.told = '59'
  let looks = 0
  for (; line.look(1).taken.length === 0; looks++) expect(looks).toBeLessThan(10)
  line.examined = 0
  expect(line.look(1).taken).toEqual([50_001])
  expect(line.examined).toBe(1)
})

test('who left something out to be where others are does not say that nothing is there', () => {
  const line = new Line(5_000, [2_500])
  line.told = '4000'
  expect(line.look(1, true).taken).toEqual([2_500])
})

test('what a glance at the beginning takes leads nobody back there', () => {
  const line = new Line(10_000, range(0, 10_000))
  line.look(1_000)
  for (const n of range(0, 100)) line.free.add(n)
  line.nowMs += 2_000
  line.look(100)
  expect(line.told).toBe('999')
})
