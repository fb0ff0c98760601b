import { writeExactly } from '../../exact-json.ts'
import type { Explanation } from '../../model/explanation.ts'
import type { StepRecord } from '../../model/step.ts'
import type { AttemptRecord, Failure, LogLine, TaskRecord } from '../../model/task.ts'
import { asCommands } from '../console/as-commands.ts'
import type { Terminal } from '../console/terminal.ts'
import { clockTime, columns, cut, durationText, moment } from '../console/words.ts'

type Style = Terminal['style']

export function taskTable(tasks: readonly TaskRecord[], now: number): string[] {
  return columns(
    ['id', 'task', 'queue', 'status', 'attempts', 'created', 'about'],
    tasks.map((task) => [
      task.id,
      task.name,
      task.queue,
      task.status,
      `${task.attempts}/${task.maxAttempts}`,
      moment(task.createdAt, now),
      aboutOf(task, now),
    ]),
  )
}

/** The one thing that matters most of it. */
function aboutOf(task: TaskRecord, now: number): string {
  const { status, runAfter, progress, error, worker, startedAt, finishedAt } = task
  if (status === 'scheduled') return `runs ${moment(runAfter, now)}`
  if (status === 'suspended') return runAfter === null ? '' : `waits until ${moment(runAfter, now)}`
  if (status === 'running') {
    const far = progress === null ? '' : `, ${percent(progress.fraction)}`
    return `on ${worker ?? '?'} for ${durationText(Math.max(0, now - (startedAt ?? now)))}${far}`
  }
  if (error !== null && status !== 'completed') return failureOf(error)
  if (startedAt !== null && finishedAt !== null) return `took ${durationText(finishedAt - startedAt)}`
  return task.key === null ? '' : `key ${task.key}`
}

function percent(fraction: number): string {
  return `${Math.floor(fraction * 100)} %`
}

export function failureOf({ kind, message }: Failure): string {
  return cut(`${kind === 'error' ? '' : `${kind}: `}${message}`, 200)
}

export function endingText({ id, status, error }: TaskRecord): string {
  return `task ${id} ${status}${error === null || status === 'completed' ? '' : `: ${failureOf(error)}`}`
}

/** Of one that is unfinished. */
export function stateText({ id, status, attempts, runAfter, worker }: TaskRecord, now: number): string {
  if (status === 'running') return `attempt ${attempts} runs on ${worker ?? '?'}`
  return status === 'scheduled' ? `task ${id} runs ${moment(runAfter, now)}` : `task ${id} is ${status}`
}

export function progressText({ attempts, progress }: TaskRecord, at: number, style: Style): string {
  const { fraction, message } = progress!
  return `${style('dim', `${clockTime(at)} #${attempts}`)} ${percent(fraction)}${message === null ? '' : ` ${message}`}`
}

export function taskLines(
  task: TaskRecord,
  attempts: readonly AttemptRecord[],
  now: number,
  style: Style,
): string[] {
  const at = (time: number | null) =>
    time === null ? undefined : `${clockTime(time)} (${moment(time, now)})`
  const fields: [string, string | undefined][] = [
    ['status', task.status],
    ['queue', task.queue],
    ['priority', String(task.priority)],
    [
      'attempts',
      `${task.attempts} of ${task.maxAttempts}${task.crashes > 0 ? `, ${task.crashes} crashed` : ''}`,
    ],
    ['key', task.key ?? undefined],
    ['requires', task.requires === null ? undefined : JSON.stringify(task.requires)],
    ['worker', task.worker ?? undefined],
    ['created', at(task.createdAt)],
    [task.status === 'suspended' ? 'times out' : 'runs after', at(task.runAfter)],
    ['started', at(task.startedAt)],
    ['finished', at(task.finishedAt)],
    [
      'progress',
      task.progress === null
        ? undefined
        : `${percent(task.progress.fraction)} ${task.progress.message ?? ''}`.trimEnd(),
    ],
  ]
  return [
    style('bold', `${task.name} ${task.id}`),
    ...fields.flatMap(([name, value]) =>
      value === undefined ? [] : [`  ${style('dim', name.padEnd(10))}  ${value}`],
    ),
    ...block('input', task.input, style),
    ...block('result', task.result, style),
    ...(task.error === null ? [] : ['', style('red', failureOf(task.error))]),
    ...stackLines(task.error?.stack ?? null, style),
    ...(attempts.length === 0 ? [] : ['', ...attemptTable(attempts, now)]),
  ]
}

function block(name: string, value: unknown, style: Style): string[] {
  if (value === undefined || value === null) return []
  return [
    `  ${style('dim', name)}`,
    ...writeExactly(value, 2)
      .split('\n')
      .map((line) => `    ${line}`),
  ]
}

const STACK_MAX = 12

function stackLines(stack: string | null, style: Style): string[] {
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return frames.slice(0, STACK_MAX).map((frame) => style('dim', `  ${frame.trim()}`))
}

export function attemptTable(attempts: readonly AttemptRecord[], now: number): string[] {
  return columns(
    ['attempt', 'outcome', 'started', 'took', 'worker', 'error'],
    attempts.map(({ attempt, outcome, startedAt, finishedAt, worker, error }) => [
      String(attempt),
      outcome,
      moment(startedAt, now),
      startedAt === null || finishedAt === null ? '-' : durationText(finishedAt - startedAt),
      worker ?? '-',
      error === null ? '' : failureOf(error),
    ]),
  )
}

const VALUE_MAX = 60

function shownValue(value: unknown): string {
  return value === null || value === undefined ? '' : cut(writeExactly(value), VALUE_MAX)
}

export function stepTable(steps: readonly StepRecord[], now: number): string[] {
  return columns(
    ['step', 'kind', 'attempt', 'kept', 'took', 'value'],
    steps.map(({ name, number, kind, attempt, startedAt, keptAt, until, value }) => [
      number <= 1 ? name : `${name} (${number})`,
      kind,
      String(attempt),
      moment(keptAt, now),
      kind === 'sleep' || kind === 'wait' ? '-' : durationText(keptAt - startedAt),
      until !== null && kind !== 'signal' ? `until ${moment(until, now)}` : shownValue(value),
    ]),
  )
}

const COLOUR_OF_LEVEL = { debug: 'dim', info: undefined, warn: 'yellow', error: 'red' } as const

export function logText({ at, attempt, level, message, details }: LogLine, style: Style): string {
  const colour = COLOUR_OF_LEVEL[level]
  const more = details === null || details === undefined ? '' : ` ${style('dim', writeExactly(details))}`
  const words = `${level.padEnd(5)} ${message}`
  return `${style('dim', `${clockTime(at)} #${attempt}`)} ${colour === undefined ? words : style(colour, words)}${more}`
}

/** Each condition in order, and what to do about the first that does not hold. */
export function explanationLines({ runnable, reasons }: Explanation, style: Style): string[] {
  return [
    runnable ? style('green', 'nothing prevents it from running') : style('yellow', 'it does not run now:'),
    ...reasons.flatMap(({ check, ok, detail, fix }) => [
      `  ${ok ? style('green', 'ok  ') : style('red', 'no  ')}${check}: ${detail}`,
      ...(ok || fix === null ? [] : [`      ${asCommands(fix)}`]),
    ]),
  ]
}
