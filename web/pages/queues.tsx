import type { LimitState, Queue, Schedule, Stats } from '../../src/http/wire/types.ts'
import { useLive } from '../api/live.ts'
import { useQuery } from '../api/use-query.ts'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Ago, At } from '../parts/now.tsx'
import { PageHead, Panel } from '../parts/panel.tsx'
import { Answered, Empty, Loading } from '../parts/states.tsx'
import { Link } from '../router.tsx'
import { count, duration, exactCount, rate } from '../text/format.ts'

export function QueuesPage() {
  const queues = useLive((live) => live.counts?.queues)
  const allPaused = useLive((live) => live.counts?.paused ?? false)
  const stats = useQuery<Stats>('/stats?window=5m')
  return (
    <>
      <PageHead title="Queues and schedules">
        {/* What ends it stands above every page. */}
        {!allPaused && (
          <Action path="/pause" icon="pause" done="Paused everything">
            Pause everything
          </Action>
        )}
      </PageHead>
      {queues === undefined ? (
        <Loading />
      ) : queues.length === 0 ? (
        <Empty icon="queues" title="No queue yet">
          The first task that you enqueue creates its queue.
        </Empty>
      ) : (
        <div className="cards">
          {queues.map((queue) => (
            <QueueCard key={queue.name} queue={queue} stats={stats.data} allPaused={allPaused} />
          ))}
        </div>
      )}
      <Schedules />
    </>
  )
}

const SHOWN = ['queued', 'running', 'scheduled', 'suspended', 'failed'] as const

function QueueCard({ queue, stats, allPaused }: { queue: Queue; stats: Stats | null; allPaused: boolean }) {
  const { name, paused, strategy, ageingMs, chosen } = queue
  const path = `/queues/${encodeURIComponent(name)}`
  const limits = useQuery<{ items: LimitState[] }>(`${path}/limits`)
  const mine = stats?.queues.find((one) => one.queue === name)
  const pace = mine === undefined ? null : rate(mine.perMinute.completed)
  return (
    <Panel
      title={name}
      note={paused ? <Badge status="paused" /> : undefined}
      actions={
        // Alone it would not go on.
        allPaused ? undefined : paused ? (
          <Action path={`${path}/resume`} icon="resume" small done={`Resumed ${name}`}>
            Resume
          </Action>
        ) : (
          <Action path={`${path}/pause`} icon="pause" small done={`Paused ${name}`}>
            Pause
          </Action>
        )
      }
    >
      <ul className="tallies">
        {SHOWN.map((status) => (
          <li key={status} data-tone={status === 'failed' && queue[status] > 0 ? 'red' : undefined}>
            <Link to={`/tasks?queue=${encodeURIComponent(name)}&status=${status}`}>
              <span className="num" title={exactCount(queue[status])}>
                {count(queue[status])}
              </span>
              <span className="muted">{status}</span>
            </Link>
          </li>
        ))}
      </ul>
      <dl className="facts">
        <div>
          <dt>Order</dt>
          <dd>
            {strategy}
            {ageingMs !== null && `, one step up for each ${duration(ageingMs)} of waiting`}
            {chosen.map((one) => `; ${one.strategy} for ${one.worker}`)}
          </dd>
        </div>
        <div>
          <dt>Throughput</dt>
          <dd>{pace === null ? '–' : `${pace.value} ${pace.unit}`}</dd>
        </div>
        {(limits.data?.items ?? []).map((limit) => (
          <Limit key={JSON.stringify([limit.scope, limit.key])} state={limit} />
        ))}
        {limits.data?.items.length === 0 && (
          <div>
            <dt>Limits</dt>
            <dd className="muted">none</dd>
          </div>
        )}
      </dl>
    </Panel>
  )
}

function Limit({ state: { scope, key, limit, held, opensInMs, holders } }: { state: LimitState }) {
  const of = 'queue' in scope ? 'Limit' : `Limit of ${scope.task}${key === null ? '' : `, ${key}`}`
  const words = [
    limit.concurrency === null ? null : `${held} of ${limit.concurrency} running`,
    limit.rate === null ? null : `${limit.rate.count} per ${duration(limit.rate.perMs)}`,
    opensInMs === null ? null : `next start in ${duration(opensInMs)}`,
  ].filter((one) => one !== null)
  return (
    <div>
      <dt>{of}</dt>
      <dd>
        {words.join(', ')}
        {holders.length > 0 && (
          <span className="holders">
            held by{' '}
            {holders.map((id) => (
              <Link key={id} to={`/tasks/${id}`} className="num">
                {id}
              </Link>
            ))}
          </span>
        )}
      </dd>
    </div>
  )
}

function Schedules() {
  const query = useQuery<{ items: Schedule[] }>('/schedules')
  return (
    <Panel title="Schedules" flush>
      <Answered query={query} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="clock" title="No schedule yet">
              Give a task <code>every</code>, and it runs on a schedule.
            </Empty>
          ) : (
            <table className="table schedules">
              <thead>
                <tr>
                  <th>Task</th>
                  <th>Every</th>
                  <th>Next</th>
                  <th>Last</th>
                  <th className="right">
                    <span className="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((schedule) => (
                  <ScheduleRow key={schedule.name} schedule={schedule} />
                ))}
              </tbody>
            </table>
          )
        }
      </Answered>
    </Panel>
  )
}

function ScheduleRow({
  schedule: { name, every, timezone, upcoming, lastAt, lastTask, paused },
}: {
  schedule: Schedule
}) {
  const path = `/schedules/${encodeURIComponent(name)}`
  return (
    <tr>
      <td className="task-name">
        <Link to={`/tasks?name=${encodeURIComponent(name)}`}>{name}</Link>
      </td>
      <td>
        <code>{every}</code> {timezone !== null && <span className="muted">{timezone}</span>}
      </td>
      <td>
        {paused || upcoming[0] === undefined ? (
          <Badge status="paused" />
        ) : (
          <details className="upcoming">
            <summary>
              <Ago at={upcoming[0]} />
            </summary>
            <ol>
              {upcoming.map((at) => (
                <li key={at}>
                  <At at={at} />
                </li>
              ))}
            </ol>
          </details>
        )}
      </td>
      <td>
        {lastAt === null ? (
          <span className="muted">never</span>
        ) : lastTask === null ? (
          <Ago at={lastAt} />
        ) : (
          <Link to={`/tasks/${lastTask}`}>
            <Ago at={lastAt} />
          </Link>
        )}
      </td>
      <td className="right row-actions">
        <Action path={`${path}/trigger`} icon="resume" small done={`Enqueued ${name}`}>
          Trigger now
        </Action>
        {paused ? (
          <Action path={`${path}/resume`} icon="resume" small done={`Resumed ${name}`}>
            Resume
          </Action>
        ) : (
          <Action path={`${path}/pause`} icon="pause" small done={`Paused ${name}`}>
            Pause
          </Action>
        )}
      </td>
    </tr>
  )
}
