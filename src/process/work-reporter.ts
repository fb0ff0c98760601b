import type { Engine } from '../engine/open.ts'
import type { TaskEvent } from '../worker/attempt/events.ts'
import type { ReportedItem, ReportLevel, WorkReport } from './work-report.ts'

/** More would cost the worker time, and no person could read them. */
const REPORTS_PER_SECOND = 100

/** Follows the work of this process and reports it, as much as the level asks for. */
export class WorkReporter {
  readonly #report: (report: WorkReport) => void
  #second: NodeJS.Timeout | undefined
  #reported = 0
  #omitted = 0

  constructor(report: (report: WorkReport) => void) {
    this.#report = report
  }

  follow(engine: Pick<Engine, 'on'>, level: ReportLevel): void {
    engine.on('failed', ({ durationMs, error, ...event }) =>
      this.#say({ kind: 'failed', ...itemOf(event), durationMs, error, retryInMs: null }),
    )
    engine.on('retrying', ({ durationMs, error, afterMs, ...event }) =>
      this.#say({ kind: 'failed', ...itemOf(event), durationMs, error, retryInMs: afterMs }),
    )
    if (level === 'failures') return
    engine.on('completed', ({ durationMs, ...event }) =>
      this.#say({ kind: 'completed', ...itemOf(event), durationMs }),
    )
    for (const kind of ['cancelled', 'changed', 'gone'] as const)
      engine.on(kind, (event) => this.#say({ kind, ...itemOf(event) }))
    if (level === 'completions') return
    engine.on('returned', (event) => this.#say({ kind: 'returned', ...itemOf(event) }))
    engine.on('log', ({ level, message, details, ...event }) => {
      const json = details === null ? null : JSON.stringify(details)
      this.#say({ kind: 'log', ...itemOf(event), level, message, details: json })
    })
  }

  /** The count of what was left out since the last second. */
  flush(): void {
    clearTimeout(this.#second)
    this.#second = undefined
    if (this.#omitted > 0) this.#report({ kind: 'omitted', count: this.#omitted })
    this.#reported = 0
    this.#omitted = 0
  }

  #say(report: WorkReport): void {
    this.#second ??= setTimeout(() => this.flush(), 1_000).unref()
    if (++this.#reported > REPORTS_PER_SECOND) this.#omitted += 1
    else this.#report(report)
  }
}

function itemOf({ id, name, queue, attempt, maxAttempts }: TaskEvent): ReportedItem {
  return { id, name, queue, attempt, maxAttempts }
}
