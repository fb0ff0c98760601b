import type { Discovery } from '../../http/wire/types.ts'
import type { RowRecord } from '../../model/row.ts'
import type { Terminal } from '../console/terminal.ts'
import { clockTime, columns, durationText, moment } from '../console/words.ts'
import { failureOf } from './task.ts'

const count = (value: number | null) => (value === null ? '-' : String(value))

export function discoveryTable(discoveries: readonly Discovery[]): string[] {
  return columns(
    [
      'discovery',
      'table',
      'waiting',
      'claimed',
      'suspended',
      'backing off',
      'quarantined',
      'done/min',
      'left',
      '',
    ],
    discoveries.map((one) => [
      one.name,
      one.table,
      ...[one.waiting, one.claimed, one.suspended, one.backingOff, one.quarantined].map(count),
      one.donePerMinute === null ? '-' : String(Math.round(one.donePerMinute)),
      one.etaMs === null ? '-' : durationText(one.etaMs),
      one.paused ? `paused${one.pausedReason === null ? '' : `: ${one.pausedReason}`}` : '',
    ]),
  )
}

export function discoveryLines(one: Discovery, style: Terminal['style']): string[] {
  const fields: [string, string | null][] = [
    ['table', one.table],
    ['key', one.key.join(', ')],
    ['where', one.where],
    ['order by', one.orderBy],
    ['version', one.version ?? 'none: whole rows are compared'],
    ['attempts', `${one.maxAttempts}, then quarantined; or after ${one.crashLimit} crashes`],
    ['waiting', count(one.waiting)],
    ['claimed', count(one.claimed)],
    ['suspended', count(one.suspended)],
    ['backing off', count(one.backingOff)],
    ['quarantined', count(one.quarantined)],
    ['done', one.donePerMinute === null ? null : `${one.donePerMinute.toFixed(1)} a minute`],
    ['takes', one.averageMs === null ? null : durationText(one.averageMs)],
    ['left', one.etaMs === null ? null : durationText(one.etaMs)],
    ['paused', one.paused ? (one.pausedReason ?? 'by hand') : null],
    ['lacks', one.createIndex],
  ]
  return [
    style('bold', one.name),
    ...fields.flatMap(([name, value]) =>
      value === null ? [] : [`  ${style('dim', name.padEnd(12))}${value}`],
    ),
  ]
}

export function rowTable(rows: readonly RowRecord[], now: number): string[] {
  return columns(
    ['row', 'state', 'attempts', 'crashes', 'since', 'next try', 'about'],
    rows.map(({ key, state, attempts, crashes, since, nextAt, worker, error }) => [
      key,
      state,
      String(attempts),
      String(crashes),
      moment(since, now),
      moment(nextAt, now),
      worker === null ? (error === null ? '' : failureOf(error)) : `on ${worker}`,
    ]),
  )
}

export function rowLines(name: string, row: RowRecord, now: number, style: Terminal['style']): string[] {
  const { key, state, attempts, crashes, worker, since, nextAt, error, history } = row
  const fields: [string, string | null][] = [
    ['state', state],
    ['attempts', `${attempts}${crashes > 0 ? `, ${crashes} crashed` : ''}`],
    ['worker', worker],
    ['since', since === null ? null : `${clockTime(since)} (${moment(since, now)})`],
    ['next try', nextAt === null ? null : `${clockTime(nextAt)} (${moment(nextAt, now)})`],
    ['error', error === null ? null : failureOf(error)],
  ]
  return [
    style('bold', `${name} ${key}`),
    ...fields.flatMap(([field, value]) =>
      value === null ? [] : [`  ${style('dim', field.padEnd(10))}${value}`],
    ),
    ...(history.length === 0
      ? []
      : [
          '',
          ...columns(
            ['attempt', 'outcome', 'when', 'message'],
            history.map((one) => [String(one.attempt), one.outcome, moment(one.at, now), one.message ?? '']),
          ),
        ]),
  ]
}
