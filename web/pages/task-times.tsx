import type { Task } from '../../src/http/wire.ts'
import { At, useNow } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'
import { duration } from '../text/format.ts'

interface Stretch {
  label: string
  tone: string
  ms: number
}

/** Where its time went. */
export function TaskTimes({ task }: { task: Task }) {
  const now = useNow()
  const stretches = stretchesOf(task, now)
  const total = Math.max(
    1,
    stretches.reduce((sum, { ms }) => sum + ms, 0),
  )
  return (
    <Panel title="Timeline">
      <div className="times-bar" aria-hidden="true">
        {stretches.map(({ label, tone, ms }) => (
          <i key={label} data-tone={tone} style={{ flexGrow: Math.max(ms / total, 0.01) }} />
        ))}
      </div>
      <ol className="times">
        <Moment label="Enqueued" at={task.createdAt} />
        {stretches.map(({ label, tone, ms }) => (
          <li key={label} className="times-span" data-tone={tone}>
            <span>{label}</span>
            <span className="num">{duration(ms)}</span>
          </li>
        ))}
        {task.finishedAt !== null && (
          <Moment label={task.status.charAt(0).toUpperCase() + task.status.slice(1)} at={task.finishedAt} />
        )}
      </ol>
    </Panel>
  )
}

function Moment({ label, at }: { label: string; at: number }) {
  return (
    <li className="times-moment">
      <span>{label}</span>
      <At at={at} />
    </li>
  )
}

function stretchesOf(
  { createdAt, runAfter, startedAt, finishedAt, status, attempts }: Task,
  now: number,
): Stretch[] {
  const dueAt = Math.max(createdAt, attempts <= 1 ? (runAfter ?? createdAt) : createdAt)
  const waitsUntil = startedAt ?? finishedAt ?? now
  const all: Stretch[] = [
    { label: 'delayed', tone: 'slate', ms: Math.min(dueAt, waitsUntil) - createdAt },
    {
      label: attempts > 1 ? 'waited, and earlier attempts' : 'waited',
      tone: 'violet',
      ms: waitsUntil - Math.min(dueAt, waitsUntil),
    },
  ]
  if (startedAt !== null && (finishedAt !== null || status === 'running'))
    all.push({
      label: status === 'running' ? 'running' : 'ran',
      tone: status === 'failed' ? 'red' : 'blue',
      ms: (finishedAt ?? now) - startedAt,
    })
  return all.filter(({ ms }) => ms >= 1)
}
