import type { Attempt, Task } from '../../src/http/wire/types.ts'
import { At, useNow } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'
import { duration } from '../text/format.ts'

interface Stretch {
  label: string
  tone: string
  from: number
  to: number
}

/** Where its time went. */
export function TaskTimes({ task, attempts }: { task: Task; attempts: readonly Attempt[] | null }) {
  const now = useNow()
  const stretches = stretchesOf(task, attempts ?? [lastOf(task)], now)
  const total = Math.max(1, totalMs(stretches))
  return (
    <Panel title="Timeline">
      <div className="times-bar" aria-hidden="true">
        {stretches.map(({ label, tone, from, to }) => (
          <i
            key={from}
            data-tone={tone}
            title={`${label} ${duration(to - from)}`}
            style={{ flexGrow: Math.max((to - from) / total, 0.01) }}
          />
        ))}
      </div>
      <ol className="times">
        <Moment label="Enqueued" at={task.createdAt} />
        {[...Map.groupBy(stretches, ({ label }) => label)].map(([label, alike]) => (
          <li key={label} className="times-span" data-tone={alike[0]!.tone}>
            <span>
              {label}
              {alike.length > 1 && <span className="num">{` × ${alike.length}`}</span>}
            </span>
            <span className="num">{duration(totalMs(alike))}</span>
          </li>
        ))}
        {task.finishedAt !== null && (
          <Moment label={task.status.charAt(0).toUpperCase() + task.status.slice(1)} at={task.finishedAt} />
        )}
      </ol>
    </Panel>
  )
}

function totalMs(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { from, to }) => sum + to - from, 0)
}

function Moment({ label, at }: { label: string; at: number }) {
  return (
    <li className="times-moment">
      <span>{label}</span>
      <At at={at} />
    </li>
  )
}

/** What the task itself tells, until its attempts are there. */
function lastOf({
  startedAt,
  finishedAt,
  status,
}: Task): Pick<Attempt, 'startedAt' | 'finishedAt' | 'outcome'> {
  const outcome = status === 'running' || status === 'completed' || status === 'suspended' ? status : 'error'
  return { startedAt, finishedAt: finishedAt ?? (status === 'running' ? null : startedAt), outcome }
}

/** Attempts as they were, and what lies before and between them. */
function stretchesOf(task: Task, attempts: readonly ReturnType<typeof lastOf>[], now: number): Stretch[] {
  const { createdAt, runAfter, finishedAt, attempts: begun } = task
  // When it was first to be due is known until it is tried again.
  const dueAt = begun <= 1 ? Math.max(createdAt, runAfter ?? createdAt) : createdAt
  const all: Stretch[] = []
  let until = createdAt
  let isSuspended = false
  const waitsTo = (to: number) => {
    if (isSuspended) all.push({ label: 'suspended', tone: 'slate', from: until, to })
    else {
      const due = Math.min(Math.max(until, dueAt), to)
      all.push({ label: 'delayed', tone: 'slate', from: until, to: due })
      all.push({ label: 'waited', tone: 'violet', from: due, to })
    }
    until = Math.max(until, to)
  }
  for (const { startedAt, finishedAt: ended, outcome } of attempts) {
    if (startedAt === null) continue
    waitsTo(startedAt)
    const to = ended ?? now
    all.push({ ...lookOf(outcome), from: until, to })
    until = Math.max(until, to)
    isSuspended = outcome === 'suspended'
  }
  waitsTo(finishedAt ?? Math.max(now, until))
  return all.filter(({ from, to }) => to - from >= 1)
}

/** Nothing is wrong with the task: a worker stopped, or it asked for another time. */
const CUT_SHORT: readonly Attempt['outcome'][] = ['returned', 'later', 'lease', 'cancelled']

function lookOf(outcome: Attempt['outcome']): Pick<Stretch, 'label' | 'tone'> {
  if (outcome === 'running') return { label: 'running', tone: 'blue' }
  if (outcome === 'completed' || outcome === 'suspended') return { label: 'ran', tone: 'blue' }
  return CUT_SHORT.includes(outcome)
    ? { label: 'interrupted run', tone: 'amber' }
    : { label: 'failed run', tone: 'red' }
}
