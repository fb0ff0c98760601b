import type { Unit } from './scenarios/scenario.ts'
import type { Spread } from './statistics.ts'

export function formatFigure(value: number, unit: Unit | 'ratio'): string {
  return `${formatNumber(value, unit)}${SIGNS[unit] ?? ''}`
}

/** The median, and in parentheses the smallest and the largest. */
export function formatSpread({ median, min, max }: Spread, unit: Unit | 'ratio'): string {
  const typical = formatFigure(median, unit)
  return min === max ? typical : `${typical} (${formatNumber(min, unit)} .. ${formatNumber(max, unit)})`
}

const SIGNS: Partial<Record<Unit | 'ratio', string>> = {
  µs: ' µs',
  ms: ' ms',
  MB: ' MB',
  '% of a core': ' %',
  ratio: ' ×',
}

function formatNumber(value: number, unit: Unit | 'ratio'): string {
  switch (unit) {
    case 'per second':
      return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(2)
    case 'ms':
      return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
    case 'µs':
    case 'MB':
      return value.toFixed(0)
    case '% of a core':
    case 'share':
    case 'ratio':
      return value.toFixed(2)
    case 'count':
      return String(value)
  }
}
