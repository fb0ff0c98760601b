import { type CSSProperties, useMemo } from 'react'
import type { Lane, Worker } from '../../src/http/wire/types.ts'
import { useLive } from '../api/live.ts'
import { useSession } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { Action } from '../parts/action.tsx'
import { Badge, toneOf } from '../parts/badge.tsx'
import { Ago, Since, useNow } from '../parts/now.tsx'
import { PageHead, Panel } from '../parts/panel.tsx'
import { Segments } from '../parts/segments.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import { Link, useFilters } from '../router.tsx'
import { bytes, duration, plural } from '../text/format.ts'
import { Components } from './components.tsx'
import { isOurs, presentOf } from './present-workers.ts'
import { Exits, HealthHistory } from './worker-history.tsx'
import { LaneView, TimeAxis } from './worker-lane.tsx'

const SPANS = [
  { value: '5m', label: '5 min', ms: 5 * 60_000, parts: 5 },
  { value: '30m', label: '30 min', ms: 30 * 60_000, parts: 6 },
  { value: '4h', label: '4 h', ms: 4 * 3_600_000, parts: 4 },
] as const
type Span = (typeof SPANS)[number]['value']

export function WorkersPage() {
  const [filters, setFilters] = useFilters()
  const span = SPANS.find(({ value }) => value === filters.get('span')) ?? SPANS[0]
  const listed = useLive((live) => live.workers)
  const workers = useMemo(() => listed && presentOf(listed), [listed])
  const timeline = useQuery<{ now: number; items: Lane[] }>('/workers/timeline')
  const lanes = timeline.data?.items ?? []
  return (
    <>
      <PageHead title="Workers">
        <Segments<Span>
          label="Time shown"
          options={SPANS}
          value={span.value}
          onChange={(value) => setFilters({ span: value === '5m' ? null : value })}
        />
        {workers?.some(isSupervised) && (
          <>
            {!workers.every(isResting) && (
              <Action path="/workers/pause" icon="pause" done="All workers are pausing">
                Pause all
              </Action>
            )}
            {workers.some(isResting) && (
              <Action path="/workers/resume" icon="resume" done="All workers are resuming">
                Resume all
              </Action>
            )}
            <Action
              path="/workers/restart"
              icon="retry"
              done="All workers are restarting"
              confirm={{
                title: 'Restart all',
                text: 'This replaces every worker process, one after the other. Each process finishes its running items first.',
              }}
            >
              Restart all
            </Action>
          </>
        )}
      </PageHead>
      {workers === null ? (
        <Loading />
      ) : workers.length === 0 ? (
        <Empty icon="workers" title="No live worker">
          <code>gleaner start</code> runs the pools of your config. Or call <code>gleaner.work()</code> in
          your own program.
        </Empty>
      ) : (
        <Lanes workers={workers} lanes={lanes} spanMs={span.ms} parts={span.parts} />
      )}
      <Components />
      <Exits workers={listed ?? []} lanes={lanes} />
      <HealthHistory />
    </>
  )
}

/** It has a supervisor, who can be asked. */
function isSupervised({ pool }: Worker): boolean {
  return pool !== ''
}

function isResting({ status }: Worker): boolean {
  return status === 'paused' || status === 'failed'
}

function Lanes({
  workers,
  lanes,
  spanMs,
  parts,
}: {
  workers: Worker[]
  lanes: Lane[]
  spanMs: number
  parts: number
}) {
  const now = useNow()
  const { info } = useSession()
  const pools = [...Map.groupBy(workers, ({ pool }) => pool)]
  const laneOf = (worker: Worker) =>
    isOurs(worker, workers, info?.host) ? lanes.find((one) => one.worker === worker.id) : undefined
  return (
    <Panel
      title="Timelines"
      note={<Legend hasRecorded={lanes.some((lane) => lane.recorded.some((one) => one.to > now - spanMs))} />}
      flush
    >
      <div className="lanes" style={{ '--part': `${100 / parts}%` } as CSSProperties}>
        {pools.map(([pool, members]) => (
          <div key={pool} className="lane-pool">
            <h3>{pool === '' ? 'in your programs' : pool}</h3>
            {members.map((worker) => (
              <WorkerLane
                key={`${worker.id} ${worker.host} ${worker.pool === '' ? worker.incarnation : ''}`}
                worker={worker}
                lane={laneOf(worker)}
                from={now - spanMs}
                to={now}
              />
            ))}
          </div>
        ))}
        <TimeAxis spanMs={spanMs} parts={parts} />
      </div>
    </Panel>
  )
}

const PHASES = ['processing', 'idle', 'loading_models', 'paused', 'backing_off', 'crashed'] as const

function Legend({ hasRecorded }: { hasRecorded: boolean }) {
  return (
    <span className="legend">
      {PHASES.map((phase) => (
        <span key={phase} data-tone={toneOf(phase)} data-phase={phase}>
          {phase.replaceAll('_', ' ')}
        </span>
      ))}
      {hasRecorded && (
        <span data-tone={toneOf('healthy')} data-phase="recorded">
          healthy, from the health history
        </span>
      )}
    </span>
  )
}

function WorkerLane({
  worker,
  lane,
  from,
  to,
}: {
  worker: Worker
  lane: Lane | undefined
  from: number
  to: number
}) {
  const { id, status, health, phase, reason, pid, host, current, restarts, rss, loopLagMs, lastFrameAt } =
    worker
  const { counters, program } = worker
  const path = `/workers/${encodeURIComponent(id)}`
  return (
    <article className="lane" aria-label={id}>
      <div className="lane-who">
        <span className="dot" data-tone={toneOf(health)} title={health} />
        <strong>{id.replace(/^worker:/, '')}</strong>
        <Badge status={status === 'running' ? (phase ?? status) : status} />
        <span className="visually-hidden">{health}</span>
      </div>
      <LaneView lane={lane} worker={worker} from={from} to={to} />
      <ul className="lane-now">
        {current.slice(0, 3).map(({ item, since, deadline }) => (
          <li key={item}>
            <ItemLink item={item} /> for <Since at={since} />
            {deadline !== null && deadline < to && <span className="error-text"> past its deadline</span>}
          </li>
        ))}
        {current.length > 3 && <li className="muted">and {current.length - 3} more</li>}
      </ul>
      <p className="lane-vitals muted num">
        {reason !== null && <span className="error-text">backing off: {reason}</span>}
        {pid !== null && <span>pid {pid}</span>}
        <span>{host}</span>
        {rss !== null && <span>{bytes(rss)}</span>}
        {loopLagMs !== null && (
          <span className={loopLagMs > 500 ? 'error-text' : ''}>loop lag {duration(loopLagMs)}</span>
        )}
        {lastFrameAt !== null && (
          <span>
            frame <Ago at={lastFrameAt} />
          </span>
        )}
        {counters !== null && <Counters counters={counters} />}
        {program !== null && <Program program={program} />}
        {restarts.total > 0 && (
          <span>
            {plural(restarts.total, 'restart')}, {restarts.recent} recent
          </span>
        )}
      </p>
      {isSupervised(worker) && (
        <div className="lane-actions">
          {isResting(worker) ? (
            <Action
              path={`${path}/resume`}
              icon="resume"
              small
              label={`Resume ${id}`}
              done={`${id} is resuming`}
            />
          ) : (
            <Action
              path={`${path}/pause`}
              icon="pause"
              small
              label={`Pause ${id}`}
              done={`${id} is pausing`}
            />
          )}
          <Action
            path={`${path}/restart`}
            icon="retry"
            small
            label={`Restart ${id}`}
            done={`${id} is restarting`}
          />
        </div>
      )}
    </article>
  )
}

function Counters({ counters }: { counters: NonNullable<Worker['counters']> }) {
  const { processed, files_processed, discovery_attempts, claim_conflicts, consecutive_errors } = counters
  return (
    <>
      <span>
        {plural(processed, 'run')}, {plural(files_processed, 'row')}
      </span>
      <span>{plural(discovery_attempts, 'look')}</span>
      {claim_conflicts > 0 && <span>{plural(claim_conflicts, 'conflict')}</span>}
      {consecutive_errors > 0 && (
        <span className="error-text">{plural(consecutive_errors, 'resource error')} in a row</span>
      )}
    </>
  )
}

/** What its program says, in its own words. */
function Program({ program }: { program: NonNullable<Worker['program']> }) {
  const { status, phase, currentJob, metrics } = program
  return (
    <>
      <span>
        program {phase?.replaceAll('_', ' ') ?? status}
        {currentJob !== null && `: ${currentJob}`}
      </span>
      {Object.entries(metrics).map(([name, value]) => (
        <span key={name}>
          {name} {value}
        </span>
      ))}
    </>
  )
}

/** `<task or discovery>/<id or key>`: of tasks, the id leads somewhere. */
function ItemLink({ item }: { item: string }) {
  const slash = item.indexOf('/')
  const [name, id] = [item.slice(0, slash), item.slice(slash + 1)]
  const isDiscovery = useLive((live) => live.discoveries?.some((one) => one.name === name) ?? false)
  return (
    <Link
      to={isDiscovery ? `/discoveries/${encodeURIComponent(name)}` : `/tasks/${encodeURIComponent(id)}`}
      className="cut"
    >
      {item}
    </Link>
  )
}
