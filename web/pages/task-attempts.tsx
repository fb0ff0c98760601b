import { writeExactly } from '../../src/exact-json.ts'
import type { Attempt, LogLine, Page, Task } from '../../src/http/wire/types.ts'
import { type Query, useQuery } from '../api/use-query.ts'
import { Badge } from '../parts/badge.tsx'
import { At } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'
import { Answered, Empty } from '../parts/states.tsx'
import { duration, fullTime, time } from '../text/format.ts'

const LINES_MAX = 200

/** Each attempt with what it logged, the newest first. */
export function AttemptsAndLogs({
  task: { id },
  attempts,
}: {
  task: Task
  attempts: Query<{ items: Attempt[] }>
}) {
  const logs = useQuery<Page<LogLine>>(`/tasks/${id}/logs?limit=${LINES_MAX}`)
  const lines = logs.data?.items ?? []
  return (
    <Panel title="Attempts and logs" note={logs.data?.next != null ? `first ${LINES_MAX} lines` : undefined}>
      <Answered query={attempts} rows={3}>
        {({ items }) =>
          items.length === 0 && lines.length === 0 ? (
            <Empty icon="clock" title="No attempt yet" />
          ) : (
            <ol className="attempts">
              {items.toReversed().map((attempt, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: an attempt that was given back has the same number as the next
                <li key={`${attempt.attempt}-${items.length - index}`}>
                  <AttemptView attempt={attempt} lines={lines.filter((line) => belongs(line, attempt))} />
                </li>
              ))}
            </ol>
          )
        }
      </Answered>
    </Panel>
  )
}

/** By its number; among several of the same number, by its time. */
function belongs(line: LogLine, { attempt, startedAt, finishedAt }: Attempt): boolean {
  if (line.attempt !== attempt) return false
  return (
    (startedAt === null || line.at >= startedAt - 50) && (finishedAt === null || line.at <= finishedAt + 50)
  )
}

function AttemptView({
  attempt: { attempt, worker, outcome, startedAt, finishedAt, error },
  lines,
}: {
  attempt: Attempt
  lines: LogLine[]
}) {
  return (
    <article className="attempt">
      <header>
        <h3>Attempt {attempt}</h3>
        <Badge status={outcome} />
        {startedAt !== null && (
          <span className="muted">
            <At at={startedAt} />
          </span>
        )}
        {startedAt !== null && finishedAt !== null && (
          <span className="muted num">{duration(finishedAt - startedAt)}</span>
        )}
        {worker !== null && <span className="muted">{worker}</span>}
      </header>
      {lines.length > 0 && (
        <ol className="log">
          {lines.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added
            <li key={index} data-level={line.level}>
              <time dateTime={new Date(line.at).toISOString()} title={fullTime(line.at)}>
                {time(line.at)}
              </time>
              <span className="log-level">{line.level}</span>
              <span className="log-text">
                {line.message}
                {hasDetails(line.details) && <span className="muted"> {writeExactly(line.details)}</span>}
              </span>
            </li>
          ))}
        </ol>
      )}
      {error !== null && (
        <details className="attempt-error">
          <summary>{error.message}</summary>
          {error.stack !== null && <pre>{error.stack}</pre>}
        </details>
      )}
    </article>
  )
}

function hasDetails(details: unknown): boolean {
  return (
    details !== null &&
    details !== undefined &&
    !(typeof details === 'object' && Object.keys(details).length === 0)
  )
}
