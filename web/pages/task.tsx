import { useEffect } from 'react'
import type { Attempt, Explanation, Task } from '../../src/http/wire/types.ts'
import { useLive, watchTasks } from '../api/live.ts'
import { useQuery } from '../api/use-query.ts'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { ExplanationView } from '../parts/explanation.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { At } from '../parts/now.tsx'
import { Facts, PageHead, Panel } from '../parts/panel.tsx'
import { Answered, Empty, Failed, Loading } from '../parts/states.tsx'
import { go, Link } from '../router.tsx'
import { duration } from '../text/format.ts'
import { AttemptsAndLogs } from './task-attempts.tsx'
import { asCommand } from './task-command.ts'
import { TaskSteps } from './task-steps.tsx'
import { ProgressBar } from './task-table.tsx'
import { TaskTimes } from './task-times.tsx'

export function TaskPage({ id }: { id: string }) {
  const query = useQuery<Task>(`/tasks/${encodeURIComponent(id)}`)
  const told = useLive((live) => live.tasks[id])
  useEffect(() => {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) return
    watchTasks([id])
    return () => watchTasks([])
  }, [id])
  const status = told?.task?.status
  const { refetch } = query
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new status brings a new result
  useEffect(() => refetch(), [status, refetch])

  if (query.error?.code === 'TASK_GONE' || told?.task === null)
    return (
      <Empty icon="search" title={`There is no task ${id}`} isPage>
        It was removed, or the ID is wrong. <Link to="/tasks">All tasks</Link>
      </Empty>
    )
  if (query.data === null)
    return query.error === null ? (
      <Loading rows={8} />
    ) : (
      <Failed error={query.error} onRetry={query.refetch} />
    )
  // What is told has neither input nor result, and may be older than what was read after an action of one's own.
  return (
    <TaskView
      task={told !== undefined && told.at > query.at ? { ...query.data, ...told.task } : query.data}
    />
  )
}

function TaskView({ task }: { task: Task }) {
  const { id, name, status, progress, error, input, result } = task
  const isFinished = task.finishedAt !== null
  const attempts = useQuery<{ items: Attempt[] }>(`/tasks/${id}/attempts`)
  return (
    <>
      <p className="crumbs">
        <Link to="/tasks">Tasks</Link> / <Link to={`/tasks?name=${encodeURIComponent(name)}`}>{name}</Link> /{' '}
        {id}
      </p>
      <PageHead
        title={
          <>
            {name} <span className="muted num">{id}</span> <Badge status={status} />
          </>
        }
      >
        <TaskActions task={task} />
      </PageHead>
      {status === 'running' && progress !== null && <ProgressBar {...progress} />}
      {error !== null && status !== 'completed' && (
        <div className="callout" data-tone={status === 'failed' ? 'red' : 'amber'}>
          <p>
            <strong>{status === 'failed' ? `Failed (${error.kind})` : `Last attempt: ${error.kind}`}</strong>{' '}
            {error.message}
          </p>
          {error.stack !== null && (
            <details>
              <summary>Stack</summary>
              <pre>{error.stack}</pre>
            </details>
          )}
        </div>
      )}
      <div className="split">
        <div className="stack">
          {status !== 'running' && !isFinished && <Explain id={id} />}
          <TaskSteps task={task} />
          <AttemptsAndLogs task={task} attempts={attempts} />
          <div className="pair">
            <Panel title="Input">
              <JsonView value={input} label="Input" />
            </Panel>
            {status === 'completed' && (
              <Panel title="Result">
                <JsonView value={result} label="Result" />
              </Panel>
            )}
          </div>
        </div>
        <div className="stack">
          <TaskTimes task={task} attempts={attempts.data?.items ?? null} />
          <Panel title="Details">
            <Details task={task} />
          </Panel>
        </div>
      </div>
    </>
  )
}

function TaskActions({ task }: { task: Task }) {
  const { id, status, finishedAt } = task
  return (
    <>
      <CopyButton text={asCommand(task)} label="Copy the command that enqueues this task again">
        Copy as CLI
      </CopyButton>
      {finishedAt !== null ? (
        <Action
          key="retry"
          path={`/tasks/${id}/retry`}
          icon="retry"
          tone="primary"
          done={`Task ${id} runs again`}
          confirm={
            status === 'completed'
              ? {
                  title: 'Run again',
                  text: `Task ${id} has completed. If you retry it, its handler runs a second time.`,
                }
              : undefined
          }
        >
          Retry
        </Action>
      ) : (
        <Action
          key="cancel"
          path={`/tasks/${id}/cancel`}
          icon="cancel"
          done={status === 'running' ? `Asked task ${id} to stop` : `Cancelled task ${id}`}
          confirm={
            status === 'running'
              ? {
                  title: 'Stop task',
                  text: `Task ${id} is running. Its signal aborts, and what it has already done is not undone.`,
                }
              : undefined
          }
        >
          Cancel
        </Action>
      )}
      {status !== 'running' && (
        <Action
          path={`/tasks/${id}`}
          method="DELETE"
          icon="remove"
          tone="danger"
          done={`Removed task ${id}`}
          confirm={{
            title: 'Remove task',
            text: `This removes task ${id}, its log lines and its attempts. You cannot undo it.`,
          }}
          onDone={() => go('/tasks')}
        >
          Remove
        </Action>
      )}
    </>
  )
}

function Explain({ id }: { id: string }) {
  const query = useQuery<Explanation>(`/tasks/${id}/explain`)
  return (
    <Panel title="Why is it not running?">
      <Answered query={query} rows={4}>
        {(explanation) => <ExplanationView explanation={explanation} />}
      </Answered>
    </Panel>
  )
}

function Details({ task }: { task: Task }) {
  const { queue, priority, attempts, maxAttempts, crashes, key, requires, worker, createdAt, runAfter } = task
  return (
    <Facts
      facts={[
        [
          'Queue',
          <Link key="queue" to={`/tasks?queue=${encodeURIComponent(queue)}`}>
            {queue}
          </Link>,
        ],
        ['Priority', priority],
        ['Attempts', `${attempts} of ${maxAttempts}`],
        crashes > 0 ? ['Crashes', crashes] : null,
        key === null
          ? null
          : [
              'Key',
              <span key="key" className="mono">
                {key}
              </span>,
            ],
        requires === null
          ? null
          : [
              'Requires',
              Object.entries(requires)
                .map(([name, value]) => `${name} = ${value}`)
                .join(', '),
            ],
        worker === null ? null : ['Worker', worker],
        ['Enqueued', <At key="created" at={createdAt} />],
        runAfter === null || task.finishedAt !== null
          ? null
          : ['Not before', <At key="after" at={runAfter} />],
        task.startedAt !== null && task.finishedAt !== null
          ? ['Ran for', duration(task.finishedAt - task.startedAt)]
          : null,
      ]}
    />
  )
}
