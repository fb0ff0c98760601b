import { useMemo } from 'react'
import type { History, Range, Stats, Step } from '../../src/http/wire/types.ts'
import { useLive } from '../api/live.ts'
import { useMayAct } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { Chart } from '../parts/chart.tsx'
import { Icon } from '../parts/icon.tsx'
import { useNow } from '../parts/now.tsx'
import { Figure, PageHead, Panel } from '../parts/panel.tsx'
import { Segments } from '../parts/segments.tsx'
import { Answered } from '../parts/states.tsx'
import { Link, useFilters } from '../router.tsx'
import { count, duration, pace, percent, plural, rate, roughly } from '../text/format.ts'
import { Alerts, DiscoveriesAtAGlance, QueuesAtAGlance, WorkersAtAGlance } from './at-a-glance.tsx'
import { perMinute, RANGES } from './ranges.ts'

export function OverviewPage() {
  const [filters, setFilters] = useFilters()
  const range = RANGES.find(({ value }) => value === filters.get('range'))?.value ?? 'hour'
  const stats = useQuery<Stats>('/stats?window=5m')
  const mayAct = useMayAct()
  return (
    <>
      <PageHead title="Overview">
        <Segments
          label="Range of the charts"
          options={RANGES}
          value={range}
          onChange={(value) => setFilters({ range: value === 'hour' ? null : value })}
        />
        {mayAct && (
          <Link to="/enqueue" className="button" data-tone="primary">
            <Icon name="enqueue" /> Enqueue
          </Link>
        )}
      </PageHead>
      <Figures stats={stats.data} />
      <Alerts />
      <Charts range={range} />
      <div className="columns">
        <WorkersAtAGlance />
        <QueuesAtAGlance />
        <DiscoveriesAtAGlance />
      </div>
    </>
  )
}

function Figures({ stats }: { stats: Stats | null }) {
  const live = useLive((state) => state.counts)
  const now = useNow()
  const counts = live?.counts ?? stats?.counts
  const depth = {
    scheduled: counts?.scheduled ?? 0,
    suspended: counts?.suspended ?? 0,
    queued: counts?.queued ?? 0,
    running: counts?.running ?? 0,
  }
  const done = stats === null ? null : rate(stats.perMinute.completed)
  const errors = stats?.errorRate ?? null
  const waitingMs =
    stats === null || stats.oldestWaitingMs === null
      ? null
      : stats.oldestWaitingMs + Math.max(0, now - stats.asOf)
  const left = depth.queued + depth.running
  const perMs = (stats?.perMinute.completed ?? 0) / 60_000
  return (
    <dl className="figures">
      <Figure
        label="Waiting"
        value={counts === undefined ? '–' : count(depth.queued)}
        tone="violet"
        note={
          depth.queued === 0
            ? 'no queued tasks'
            : `oldest: ${waitingMs === null ? 'just now' : roughly(waitingMs)}`
        }
      />
      <Figure
        label="Running"
        value={counts === undefined ? '–' : count(depth.running)}
        tone="blue"
        note={`${count(depth.scheduled)} scheduled${depth.suspended > 0 ? `, ${count(depth.suspended)} suspended` : ''}`}
      />
      <Figure
        label="Throughput"
        value={done?.value ?? '–'}
        unit={done?.unit}
        tone="green"
        note={stats?.durationMs ? `median ${duration(stats.durationMs.p50)}` : 'last 5 min'}
      />
      <Figure
        label="Errors"
        value={errors === null ? '–' : percent(errors)}
        tone={errors !== null && errors > 0.1 ? 'red' : 'slate'}
        note={counts === undefined ? 'of attempts' : plural(counts.failed, 'failed task')}
      />
      <Figure
        label="Time left"
        value={
          left === 0
            ? 'done'
            : perMs === 0
              ? '–'
              : duration(Math.max(1, Math.round(left / perMs / 1000)) * 1000)
        }
        tone="amber"
        note={left === 0 ? 'no queued tasks' : perMs === 0 ? 'no task completes' : 'at this rate'}
      />
    </dl>
  )
}

function Charts({ range }: { range: Range }) {
  const query = useQuery<History>(`/stats/history?range=${range}`)
  return <Answered query={query}>{(history) => <ChartGrid history={history} range={range} />}</Answered>
}

function ChartGrid({ history, range }: { history: History; range: Range }) {
  const { times, depth, throughput, latency, success } = useMemo(() => linesOf(history), [history])
  const days = range === 'week'
  return (
    <Panel title={`Last ${range}`}>
      <div className="charts">
        <Chart title="Unfinished tasks" times={times} days={days} format={whole} lines={depth} top={5} />
        <Chart title="Done per minute" times={times} days={days} format={pace} lines={throughput} top={5} />
        <Chart
          title="Duration of attempts"
          times={times}
          days={days}
          format={duration}
          lines={latency}
          top={10}
        />
        <Chart
          title="Successful attempts"
          times={times}
          days={days}
          format={percent}
          lines={success}
          top={1}
        />
      </div>
    </Panel>
  )
}

function linesOf(history: History) {
  const { steps } = history
  const rates = (of: (step: Step) => number) => perMinute(history, of)
  const share = (ok: number, bad: number) => (ok + bad === 0 ? null : ok / (ok + bad))
  return {
    times: steps.map(({ at }) => at),
    depth: [
      {
        label: 'tasks',
        tone: 'violet',
        area: true,
        values: steps.map((step) => step.depth),
      },
    ],
    throughput: [
      { label: 'tasks', tone: 'green', area: true, values: rates(({ completed }) => completed) },
      { label: 'rows', tone: 'blue', values: rates(({ rowsDone }) => rowsDone) },
      { label: 'failed', tone: 'red', values: rates(({ failed }) => failed) },
    ],
    latency: [
      { label: 'p95', tone: 'amber', values: steps.map(({ p95 }) => p95) },
      { label: 'median', tone: 'blue', values: steps.map(({ p50 }) => p50) },
    ],
    success: [
      {
        label: 'share',
        tone: 'green',
        area: true,
        values: steps.map(({ completed, failed, retried }) => share(completed, failed + retried)),
      },
    ],
  }
}

function whole(value: number): string {
  return Number.isInteger(value) ? count(value) : ''
}
