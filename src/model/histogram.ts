/**
 * How long things took: how many fell into each bucket. Buckets grow by an eighth of a doubling, so that whatever is read
 * from them is true to 5 %, from a hundredth of a millisecond to days; and those of many minutes and processes are simply
 * added up.
 */
export type Histogram = Map<number, number>

const PER_DOUBLING = 8
const SHORTEST_MS = 0.01
const BUCKET_MAX = 320
export const BUCKETS = BUCKET_MAX + 1

export function bucketOf(ms: number): number {
  if (ms <= SHORTEST_MS) return 0
  return Math.min(BUCKET_MAX, 1 + Math.floor(Math.log2(ms / SHORTEST_MS) * PER_DOUBLING))
}

/** Nothing in a bucket took longer. */
export function edgeMs(bucket: number): number {
  return SHORTEST_MS * 2 ** (bucket / PER_DOUBLING)
}

/** The middle of a bucket. */
export function middleMs(bucket: number): number {
  return bucket === 0 ? SHORTEST_MS : SHORTEST_MS * 2 ** ((bucket - 0.5) / PER_DOUBLING)
}

/** Of buckets, or of anything else that is counted. */
export function addTo<K>(counts: Map<K, number>, more: Iterable<readonly [K, number]>): Map<K, number> {
  for (const [what, count] of more) counts.set(what, (counts.get(what) ?? 0) + count)
  return counts
}

/** So that this share of all took no longer; null when there was nothing. */
export function percentileMs(histogram: Histogram, share: number): number | null {
  const total = [...histogram.values()].reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  for (const [bucket, count] of [...histogram].sort(([a], [b]) => a - b)) {
    seen += count
    if (seen >= share * total) return rounded(middleMs(bucket))
  }
  return null
}

/** Null when there was nothing. */
export function averageOf(histogram: Histogram): number | null {
  let count = 0
  let sum = 0
  for (const [bucket, times] of histogram) {
    count += times
    sum += times * middleMs(bucket)
  }
  return count === 0 ? null : rounded(sum / count)
}

/** Three digits: more would only look exact. */
function rounded(ms: number): number {
  return Number(ms.toPrecision(3))
}

export function writeHistogram(histogram: Histogram): string {
  return JSON.stringify([...histogram].sort(([a], [b]) => a - b))
}

export function readHistogram(text: string): Histogram {
  return new Map(JSON.parse(text) as [number, number][])
}
