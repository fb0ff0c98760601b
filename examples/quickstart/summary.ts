// The results, from the records that Gleaner keeps of every task.
import type { Gleaner, TaskRecord } from '../../src/index.ts' // in your own project: from 'gleaner'
import { cut, duration, percentile, plural, style } from './text.ts'

export function printSummary(tasks: readonly TaskRecord[], elapsedMs: number): void {
  const ended = tasks.filter((task) => task.finishedAt !== null)
  console.log(style('bold', `${ended.length} of ${tasks.length} tasks done in ${duration(elapsedMs)}`))
  console.log(`  ${countsLine(tasks)}`)
  console.log(
    `  throughput  ${Math.round(ended.length / (elapsedMs / 1000))} tasks/s on average, ${bestSecond(ended)} in the best second`,
  )
  console.log(`  wait        ${percentiles(ended.flatMap(waitMs))}  (from due to started)`)
  console.log(`  run         ${percentiles(ended.flatMap(runMs))}`)
  console.log()
  printTable(tasks)
  console.log()
  printFailures(tasks)
}

/** Gleaner keeps no records of completed rows: the row itself shows that it is done. */
export async function printRows(gleaner: Gleaner, name: string, total: number): Promise<void> {
  const { waiting, claimed, backingOff, quarantined } = await gleaner.discoveries.stats(name)
  const left = waiting + claimed + backingOff + quarantined
  const aside = quarantined === 0 ? '' : `, ${style('red', `${quarantined} quarantined`)}`
  console.log()
  console.log(style('bold', 'Found in a table, without an enqueue'))
  console.log(`  ${name}  ${total - left} of ${plural(total, 'row')} done${aside}`)
  for (const { key, error } of (await gleaner.discoveries.rows(name, { state: 'quarantined' })).items)
    console.log(`  ${''.padEnd(18)}row ${key}: ${style('red', cut(error?.message ?? '', 50))}`)
}

function countsLine(tasks: readonly TaskRecord[]): string {
  const colours = { completed: 'green', failed: 'red', cancelled: 'yellow' } as const
  return Object.entries(Object.groupBy(tasks, (task) => task.status))
    .map(([status, group]) => {
      const words = `${group.length} ${status}`
      return status in colours ? style(colours[status as keyof typeof colours], words) : words
    })
    .join(', ')
}

/** A retried task waits again. The wait is the time from when it was last due until it last started. */
function waitMs({ startedAt, runAfter, createdAt }: TaskRecord): number[] {
  return startedAt === null ? [] : [Math.max(0, startedAt - Math.max(createdAt, runAfter ?? 0))]
}

function runMs({ startedAt, finishedAt }: TaskRecord): number[] {
  return startedAt === null || finishedAt === null ? [] : [finishedAt - startedAt]
}

function percentiles(values: readonly number[]): string {
  return `p50 ${share(values, 0.5)}, p95 ${share(values, 0.95)}`
}

function share(values: readonly number[], part: number): string {
  return values.length === 0 ? '-' : duration(percentile(values, part))
}

function bestSecond(ended: readonly TaskRecord[]): number {
  const times = ended.map((task) => task.finishedAt ?? 0)
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length))
}

function printTable(tasks: readonly TaskRecord[]): void {
  const line = (name: string, cells: readonly string[]) =>
    `  ${name.padEnd(16)}${cells.map((cell) => cell.padStart(10)).join('')}`
  console.log(style('dim', line('task', ['tasks', 'completed', 'retries', 'wait p95', 'run p50', 'run p95'])))
  for (const [name, group] of byName(tasks)) {
    const completed = group.filter((task) => task.status === 'completed').length
    const retries = group.reduce((sum, task) => sum + Math.max(0, task.attempts - 1), 0)
    const run = group.flatMap(runMs)
    const times = [share(group.flatMap(waitMs), 0.95), share(run, 0.5), share(run, 0.95)]
    console.log(line(name, [...[group.length, completed, retries].map(String), ...times]))
  }
}

function printFailures(tasks: readonly TaskRecord[]): void {
  const failed = tasks.filter((task) => task.status === 'failed')
  if (failed.length > 0) console.log(style('bold', 'What failed, and why'))
  for (const [, group] of Object.entries(
    Object.groupBy(failed, ({ name, error }) => `${name} ${error?.kind}`),
  )) {
    const { name, attempts, error } = group![0]!
    console.log(`  ${name.padEnd(16)}${group!.length} × ${error?.kind} after ${plural(attempts, 'attempt')}`)
    console.log(`  ${''.padEnd(16)}${style('red', cut(error?.message ?? '', 60))}`)
  }
  const recovered = tasks.filter((task) => task.status === 'completed' && task.attempts > 1)
  if (recovered.length > 0)
    console.log(`  ${plural(recovered.length, 'more task')} failed at first and recovered.`)
}

function byName(tasks: readonly TaskRecord[]): [string, TaskRecord[]][] {
  return Object.entries(Object.groupBy(tasks, (task) => task.name)) as [string, TaskRecord[]][]
}
