import type { Task } from '../../src/http/wire/types.ts'
import { Badge } from '../parts/badge.tsx'
import { Ago, Since } from '../parts/now.tsx'
import { Link } from '../router.tsx'
import { duration } from '../text/format.ts'

export interface TaskTableProps {
  tasks: Task[]
  selectable: boolean
  selected: ReadonlySet<string>
  onSelect: (selected: ReadonlySet<string>) => void
}

export function TaskTable({ tasks, selectable, selected, onSelect }: TaskTableProps) {
  const areAll = tasks.length > 0 && tasks.every(({ id }) => selected.has(id))
  const toggle = (id: string) => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    onSelect(next)
  }
  return (
    <table className="table tasks">
      <thead>
        <tr>
          {selectable && (
            <th className="check">
              <input
                type="checkbox"
                aria-label="Select all tasks on this page"
                checked={areAll}
                onChange={() => onSelect(areAll ? new Set() : new Set(tasks.map(({ id }) => id)))}
              />
            </th>
          )}
          <th>Task</th>
          <th>Status</th>
          <th>Queue</th>
          <th className="right">Attempts</th>
          <th>Details</th>
          <th className="right">Duration</th>
          <th className="right">When</th>
        </tr>
      </thead>
      <tbody>
        {tasks.map((task) => (
          <tr key={task.id} data-selected={selected.has(task.id) || undefined}>
            {selectable && (
              <td className="check">
                <input
                  type="checkbox"
                  aria-label={`Select task ${task.id}`}
                  checked={selected.has(task.id)}
                  onChange={() => toggle(task.id)}
                />
              </td>
            )}
            <td className="task-name">
              <Link to={`/tasks/${task.id}`}>{task.name}</Link> <span className="muted num">{task.id}</span>
            </td>
            <td>
              <Badge status={task.status} />
            </td>
            <td className="task-queue">{task.queue}</td>
            <td className="right num task-attempts">
              {task.attempts} / {task.maxAttempts}
            </td>
            <td className="task-what">
              <What task={task} />
            </td>
            <td className="right num task-took">
              <Took task={task} />
            </td>
            <td className="right num task-when">
              <Ago
                at={
                  task.finishedAt ??
                  (task.status === 'scheduled' || task.status === 'suspended'
                    ? task.runAfter
                    : task.startedAt) ??
                  task.createdAt
                }
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The most telling thing about it. */
function What({ task: { status, progress, error, worker, key } }: { task: Task }) {
  if (status === 'running' && progress !== null) return <ProgressBar {...progress} />
  if (error !== null && status !== 'completed')
    return (
      <span className="cut error-text" title={error.message}>
        {error.message}
      </span>
    )
  if (status === 'running' && worker !== null) return <span className="cut muted">{worker}</span>
  return key === null ? null : (
    <span className="cut muted" title={key}>
      key {key}
    </span>
  )
}

export function ProgressBar({ fraction, message }: { fraction: number; message: string | null }) {
  const share = Math.min(Math.max(fraction, 0), 1)
  return (
    <span className="progress">
      <progress max={1} value={share} aria-label="Progress" />
      <span className="num">{Math.round(share * 100)} %</span>
      {message !== null && <span className="cut muted">{message}</span>}
    </span>
  )
}

function Took({ task: { startedAt, finishedAt, status } }: { task: Task }) {
  if (startedAt === null) return null
  if (finishedAt !== null) return duration(finishedAt - startedAt)
  return status === 'running' ? <Since at={startedAt} /> : null
}
