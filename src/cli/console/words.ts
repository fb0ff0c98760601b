import { escaped } from './escape.ts'

/** Three digits are enough: `1.2 s`, `4 min`, `3 h`, `2 d`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 48 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} d`
}

export function bytes(count: number): string {
  if (count < 2 ** 20) return `${Math.round(count / 2 ** 10)} kB`
  if (count < 2 ** 30) return `${Math.round(count / 2 ** 20)} MB`
  return `${(count / 2 ** 30).toFixed(1)} GB`
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** `3 min ago`, `in 2 h`, `-` for never. */
export function moment(at: number | null, now: number): string {
  if (at === null) return '-'
  return at <= now ? `${durationText(now - at)} ago` : `in ${durationText(at - now)}`
}

/** In the reader's own time zone: `2026-11-15 20:07:56`. */
export function clockTime(at: number): string {
  const date = new Date(at)
  const two = (part: number) => String(part).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${date.toTimeString().slice(0, 8)}`
}

/** Columns as wide as their longest cell; numbers to the right. Cells are escaped first, so that they are as wide as they look. */
export function columns(head: readonly string[], cells: readonly (readonly string[])[]): string[] {
  const rows = cells.map((row) => row.map(escaped))
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)))
  const isNumber = head.map(
    (_, i) => rows.length > 0 && rows.every((row) => /^[\d.,]*( \w+)?$|^-$/.test(row[i] ?? '')),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (isNumber[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd()
  return [line(head), ...rows.map(line)]
}

/** One line, and no longer than `width`. */
export function cut(text: string, width: number): string {
  const line = escaped(text.split('\n')[0] ?? '')
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`
}
