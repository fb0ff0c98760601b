// The live display: redrawn in place on a terminal, a plain line now and then elsewhere.
import type { Counts } from '../../src/index.ts' // in your own project: from 'gleaner'
import type { Activity } from './activity.ts'
import { PRODUCTS } from './catalogue.ts'
import { bar, cut, duration, isTerminal, seconds, sparkline, style } from './text.ts'

const REDRAW_MS = 100
const PLAIN_LINE_MS = 1_000

/** Hides the cursor and cuts long lines, and undoes both. */
const BEGIN = '\x1b[?25l\x1b[?7l'
const END = '\x1b[?25h\x1b[?7h'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'
const CLEAR_ALL = '\x1b[2J\x1b[H'

const RUNNING_ROWS = 5
const FAILURE_ROWS = 3

const STATUSES = [
  ['completed', 'green'],
  ['running', 'cyan'],
  ['queued', 'magenta'],
  ['scheduled', 'blue'],
  ['failed', 'red'],
  ['cancelled', 'yellow'],
] as const

/** Shows the activity until the returned function is called. */
export function showLive(activity: Activity): () => void {
  let drawn = 0

  function show(): void {
    const { counts } = activity
    if (!isTerminal) return console.log(plainLine(counts, activity))
    // A terminal may not know its size.
    const { columns, rows } = process.stdout
    const lines = frame(counts, activity, columns || 80).slice(0, (rows || 24) - 1)
    process.stdout.write(
      `${up(drawn)}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`,
    )
    drawn = lines.length
  }

  // Lines that wrapped when the window changed cannot be redrawn: begin again at the top.
  const startOver = () => {
    process.stdout.write(CLEAR_ALL)
    drawn = 0
  }
  const restore = () => process.stdout.write(END)

  if (isTerminal) {
    process.stdout.write(BEGIN)
    process.stdout.on('resize', startOver)
    process.on('exit', restore)
  }
  const timer = setInterval(show, isTerminal ? REDRAW_MS : PLAIN_LINE_MS)

  return () => {
    clearInterval(timer)
    if (!isTerminal) return
    process.stdout.off('resize', startOver)
    process.off('exit', restore)
    process.stdout.write(`${up(drawn)}${CLEAR_BELOW}${END}`)
  }
}

function up(lines: number): string {
  return lines === 0 ? '' : `\x1b[${lines}A\r`
}

function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0)
}

function plainLine(counts: Counts, activity: Activity): string {
  const { completed, running, queued, scheduled, failed, cancelled } = counts
  const done = completed + failed + cancelled
  const time = seconds(activity.elapsedMs).padStart(7)
  return `${time}  ${done} of ${total(counts)} done (${failed} failed), ${running} running, ${queued} queued, ${scheduled} scheduled`
}

function frame(counts: Counts, activity: Activity, columns: number): string[] {
  const width = Math.min(columns - 1, 110)
  return [
    header(counts, activity, width),
    '',
    ...STATUSES.map((status) => statusLine(status, counts, width)),
    `  ${style('dim', 'tasks/s')}    ${String(activity.rate).padStart(4)}  ${style('green', sparkline(activity.history))}`,
    rowsLine(activity, width),
    '',
    style('bold', 'Running now'),
    ...rows(RUNNING_ROWS, runningLines(activity, width)),
    '',
    style('bold', 'Last failures'),
    ...rows(FAILURE_ROWS, failureLines(activity, width)),
  ]
}

function header(counts: Counts, activity: Activity, width: number): string {
  const { completed, failed, cancelled } = counts
  const left = `Gleaner: ${completed + failed + cancelled} of ${total(counts)} tasks done`
  const right = `${seconds(activity.elapsedMs)}, Ctrl-C stops`
  const gap = width - left.length - right.length
  return style('bold', cut(left, width)) + (gap > 0 ? ' '.repeat(gap) + style('dim', right) : '')
}

function statusLine([status, colour]: (typeof STATUSES)[number], counts: Counts, width: number): string {
  const length = Math.max(10, width - 20)
  const drawn = bar(counts[status] / Math.max(1, total(counts)), length)
  return `  ${style('dim', status.padEnd(10))} ${String(counts[status]).padStart(4)}  ${style(colour, drawn)}`
}

/** Rows of a table, beside the tasks. */
function rowsLine({ rows: { done } }: Activity, width: number): string {
  const drawn = bar(done / PRODUCTS, Math.max(10, width - 20))
  return `  ${style('dim', 'rows done ')} ${String(done).padStart(4)}  ${style('green', drawn)}`
}

/** Tasks that report progress come first. */
function runningLines(activity: Activity, width: number): string[] {
  const order = (fraction: number | null) => (fraction === null ? 1 : 0)
  return activity.running
    .toSorted((a, b) => order(a.fraction) - order(b.fraction) || a.since - b.since)
    .map(({ label, fraction, message, since }) => {
      const task = `  ${label.padEnd(20)} `
      if (fraction === null) return `${task}${style('dim', duration(Math.max(0, Date.now() - since)))}`
      const percent = `${Math.round(fraction * 100)} %`.padStart(5)
      return `${task}${style('cyan', bar(fraction, 20))}${percent}  ${style('dim', cut(message, width - 50))}`
    })
}

function failureLines(activity: Activity, width: number): string[] {
  return activity.failures.map(({ task, next, message, final }) => {
    const what = style(final ? 'red' : 'yellow', next.padEnd(20))
    return `  ${task.padEnd(20)} ${what} ${cut(message, width - 44)}`
  })
}

/** Always the same number of lines, so that the lines below do not jump. */
function rows(count: number, lines: readonly string[]): string[] {
  return Array.from({ length: count }, (_, i) => lines[i] ?? '')
}
