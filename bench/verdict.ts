import type { EntryResult } from './results.ts'
import type { Target } from './scenarios/scenario.ts'
import { type Spread, spreadOf } from './statistics.ts'

export interface Verdict {
  level: Target['level']
  text: string
  metric: string
  relative: boolean
  /** Of the ratio, or of the figure itself. */
  measured: Spread
  reached: boolean
}

/** Undefined when one of the two was not measured in this run. */
export function judge(target: Target, entries: readonly EntryResult[]): Verdict | undefined {
  const figures = figuresOf(target, entries)
  if (figures.length === 0) return undefined
  const measured = spreadOf(figures)
  const everyRound = target.over === 'every round'
  const low = everyRound ? measured.min : measured.median
  const high = everyRound ? measured.max : measured.median
  const reached = low >= (target.atLeast ?? -Infinity) && high <= (target.atMost ?? Infinity)
  return {
    level: target.level,
    text: target.text,
    metric: target.metric,
    relative: target.relativeTo !== undefined,
    measured,
    reached,
  }
}

/** Ratios are taken within each round, whose measurements are neighbours in time: noise that hits both cancels out. */
function figuresOf(target: Target, entries: readonly EntryResult[]): number[] {
  const own = valuesOf(target.entry, target.metric, entries)
  if (target.relativeTo === undefined) return own
  const others = [target.relativeTo].flat().map((label) => valuesOf(label, target.metric, entries))
  const rounds = Math.min(...others.map((values) => values.length))
  return own
    .slice(0, rounds)
    .map((value, round) => value / Math.max(...others.map((values) => values[round]!)))
}

function valuesOf(label: string, metric: string, entries: readonly EntryResult[]): number[] {
  const rounds = entries.find((entry) => entry.label === label)?.rounds ?? []
  return rounds.flatMap((sample) => sample[metric] ?? [])
}
