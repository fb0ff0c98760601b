import type { Worker } from '../../src/http/wire/types.ts'
import { useLive } from '../api/live.ts'
import { Badge, toneOf } from '../parts/badge.tsx'
import { Icon } from '../parts/icon.tsx'
import { Since } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'
import { Prose } from '../parts/prose.tsx'
import { Empty, Loading, sentence } from '../parts/states.tsx'
import { Link } from '../router.tsx'
import { count, duration } from '../text/format.ts'
import { presentOf } from './present-workers.ts'

/** Parts of the overview that tell where to look further. */

export function Alerts() {
  const alerts = useLive((live) => live.health?.alerts)
  if (alerts === undefined || alerts.length === 0) return null
  return (
    <ul className="alerts" aria-label="Alerts">
      {alerts.map(({ kind, queue, discovery, message, fix }) => (
        <li key={`${kind} ${queue} ${discovery}`}>
          <Icon name="warning" />
          <div>
            <p>{sentence(message)}</p>
            <p className="muted">
              <Prose text={fix} />
            </p>
          </div>
          <Link
            to={
              queue === null
                ? `/discoveries/${encodeURIComponent(discovery!)}`
                : `/tasks?queue=${encodeURIComponent(queue)}`
            }
          >
            {queue === null ? 'View rows' : 'View tasks'}
          </Link>
        </li>
      ))}
    </ul>
  )
}

const WORKERS_SHOWN = 12

export function WorkersAtAGlance() {
  const workers = useLive((live) => live.workers)
  return (
    <Panel title="Workers" actions={<Link to="/workers">All</Link>} flush>
      {workers === null ? (
        <Loading rows={3} />
      ) : workers.length === 0 ? (
        <Empty icon="workers" title="No live worker">
          <code>gleaner start</code> runs the pools of your config.
        </Empty>
      ) : (
        <ul className="glance">
          {presentOf(workers)
            .slice(0, WORKERS_SHOWN)
            .map((worker) => (
              <li key={`${worker.id} ${worker.host}`}>
                <span className="dot" data-tone={toneOf(worker.health)} />
                <span className="glance-name">{worker.id.replace(/^worker:/, '')}</span>
                <span className="glance-note glance-doing">
                  <Doing worker={worker} />
                </span>
              </li>
            ))}
        </ul>
      )}
    </Panel>
  )
}

function Doing({ worker: { current, status, phase } }: { worker: Worker }) {
  const [first] = current
  if (status !== 'running' || first === undefined) return (phase ?? status).replaceAll('_', ' ')
  return (
    <>
      <span className="cut">{first.item}</span>
      <span className="num">
        {current.length > 1 && `+${current.length - 1} `}· <Since at={first.since} />
      </span>
    </>
  )
}

export function QueuesAtAGlance() {
  const counts = useLive((live) => live.counts)
  const most = Math.max(1, ...(counts?.queues ?? []).map(({ queued, running }) => queued + running))
  return (
    <Panel title="Queues" actions={<Link to="/queues">All</Link>} flush>
      {counts === null ? (
        <Loading rows={3} />
      ) : counts.queues.length === 0 ? (
        <Empty icon="queues" title="No queue yet">
          The first task that you enqueue creates its queue.
        </Empty>
      ) : (
        <ul className="glance">
          {counts.queues.map(({ name, paused, queued, running }) => (
            <li key={name}>
              <Link to={`/tasks?queue=${encodeURIComponent(name)}`} className="glance-name">
                {name}
              </Link>
              {paused && <Badge status="paused" />}
              <meter
                className="visually-hidden"
                min={0}
                max={most}
                value={queued + running}
                aria-label={`${name}: queued and running`}
              />
              <span className="track" aria-hidden="true">
                <i className="track-blue" style={{ inlineSize: `${(running / most) * 100}%` }} />
                <i className="track-violet" style={{ inlineSize: `${(queued / most) * 100}%` }} />
              </span>
              <span className="num glance-number">{count(queued + running)}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

export function DiscoveriesAtAGlance() {
  const discoveries = useLive((live) => live.discoveries)
  return (
    <Panel title="Discoveries" actions={<Link to="/discoveries">All</Link>} flush>
      {discoveries === null ? (
        <Loading rows={3} />
      ) : discoveries.length === 0 ? (
        <Empty icon="discoveries" title="No discovery yet">
          Point Gleaner at a table of yours with <code>defineDiscovery</code>.
        </Empty>
      ) : (
        <ul className="glance">
          {discoveries.map(({ name, waiting, claimed, suspended, backingOff, quarantined, etaMs }) => {
            const left = (waiting ?? 0) + (claimed ?? 0) + (suspended ?? 0) + (backingOff ?? 0)
            return (
              <li key={name} className="glance-tall">
                <Link to={`/discoveries/${encodeURIComponent(name)}`} className="glance-name">
                  {name}
                </Link>
                <span className="num glance-number">{waiting === null ? '–' : `${count(left)} left`}</span>
                <span className="glance-more num">
                  {waiting === null ? 'cannot read its table' : pace(left, etaMs)}
                </span>
                {(quarantined ?? 0) > 0 && (
                  <Badge status="quarantined">{`${count(quarantined!)} quarantined`}</Badge>
                )}
              </li>
            )
          })}
        </ul>
      )}
    </Panel>
  )
}

function pace(left: number, etaMs: number | null): string {
  if (left === 0) return 'no rows need work'
  return etaMs === null ? 'no progress' : `done in ${duration(etaMs)}`
}
