import type { ReportedItem, WorkReport } from '../../process/work-report.ts'
import type { Logger } from '../../supervisor/logger.ts'
import { shellWord } from '../console/as-commands.ts'
import type { Terminal } from '../console/terminal.ts'
import { cut, durationText } from '../console/words.ts'

/** Of an error message in a log line. */
const MESSAGE_WIDTH = 500
const FRAMES_MAX = 6

type ItemReport = Exclude<WorkReport, { kind: 'loaded' }>
type Failed = Extract<WorkReport, { kind: 'failed' }>

/** One line for each report; a failure says which attempt it was, why it failed and what follows. */
export function logReport(logger: Logger, worker: string, report: ItemReport): void {
  const { kind } = report
  const level = kind === 'failed' ? (report.retryInMs === null ? 'error' : 'warn') : levelOf(report)
  logger[level]({ worker, ...report }, sentenceOf(report))
}

function levelOf(report: ItemReport): 'info' | 'warn' {
  return report.kind === 'omitted' || report.kind === 'changed' ? 'warn' : 'info'
}

function sentenceOf(report: ItemReport): string {
  if (report.kind === 'omitted')
    return `${report.count} more lines about tasks and rows were left out in the last second`
  return `${nameInLine(report)}${predicateOf(report)}`
}

/** `mail.send 12`, and for a row `tag-files/42`. */
export function nameInLine({ id, name, queue }: ReportedItem): string {
  return queue === null ? id : `${name} ${id}`
}

function predicateOf(report: Exclude<ItemReport, { kind: 'omitted' }>): string {
  switch (report.kind) {
    case 'completed':
      return ` completed in ${durationText(report.durationMs)}${report.attempt > 1 ? ` (attempt ${attemptOf(report)})` : ''}`
    case 'failed':
      return `: attempt ${attemptOf(report)} failed${after(report)}: ${cut(report.error.message, MESSAGE_WIDTH)}; ${nextOf(report)}`
    case 'cancelled':
      return ' was cancelled'
    case 'returned':
      return ' went back unfinished and lost no attempt'
    case 'changed':
      return ' was edited during its run: nothing was written, and it runs again'
    case 'gone':
      return ' was deleted during its run, or needs no work any more: nothing was written'
    case 'log':
      return `: ${report.message}${report.details === null ? '' : ` ${report.details}`}`
  }
}

function attemptOf({ attempt, maxAttempts }: ReportedItem): string {
  return maxAttempts === null ? String(attempt) : `${attempt} of ${maxAttempts}`
}

function after({ durationMs }: Failed): string {
  return durationMs === null ? '' : ` after ${durationText(durationMs)}`
}

function nextOf({ retryInMs, error, attempt, maxAttempts, ...item }: Failed): string {
  if (retryInMs !== null) return retryInMs === 0 ? 'next try now' : `next try in ${durationText(retryInMs)}`
  const command = retryCommand(item)
  if (item.queue === null) return `the row is quarantined; retry it with \`${command}\``
  if (error.kind === 'crash') return `the task is quarantined; retry it with \`${command}\``
  const isEarly = maxAttempts !== null && attempt < maxAttempts
  return `${isEarly ? 'this error is permanent' : 'no attempt is left'}; retry it with \`${command}\``
}

function retryCommand({ id, name, queue }: Pick<ReportedItem, 'id' | 'name' | 'queue'>): string {
  if (queue !== null) return `gleaner tasks retry ${id}`
  return `gleaner discoveries retry ${name} ${shellWord(id.slice(name.length + 1))}`
}

/** For development: the same line in colour, and below a failure the places in your code where it was thrown. */
export function workLines(
  worker: string,
  report: ItemReport,
  { style, cwd }: Pick<Terminal, 'style' | 'cwd'>,
): string[] {
  const who = style('dim', worker.replace(/^worker:/, ''))
  if (report.kind === 'omitted') return [`${style('yellow', '…')} ${who} ${sentenceOf(report)}`]
  const isFinal = report.kind === 'failed' && report.retryInMs === null
  const [mark, colour] = isFinal ? (['✗', 'red'] as const) : MARKS[report.kind]
  const isPlain = report.kind === 'completed' || report.kind === 'log'
  const predicate = isPlain ? predicateOf(report) : style(colour, predicateOf(report))
  const line = `${style(colour, mark)} ${who} ${style('bold', nameInLine(report))}${predicate}`
  if (report.kind !== 'failed') return [line]
  return [line, ...placesIn(report.error.stack, cwd).map((place) => style('dim', `  ${place}`))]
}

const MARKS = {
  completed: ['✓', 'green'],
  failed: ['!', 'yellow'],
  cancelled: ['-', 'dim'],
  returned: ['-', 'dim'],
  changed: ['~', 'yellow'],
  gone: ['-', 'dim'],
  log: ['·', 'dim'],
} as const

/** The frames of a stack that are in your own code, with paths as seen from `cwd`. */
export function placesIn(stack: string | null, cwd: string): string[] {
  if (stack === null) return []
  return stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at ') && !/node:|\/node_modules\//.test(line) && !line.includes(OWN))
    .slice(0, FRAMES_MAX)
    .map((line) => line.replace(/(?:file:\/\/)?(\/[^()]+)/, (_path, path: string) => seenFrom(cwd, path)))
}

function seenFrom(cwd: string, path: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path
}

/** Gleaner's own files: in the checkout they are not below node_modules. */
const OWN = new URL('../..', import.meta.url).pathname
