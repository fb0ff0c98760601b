import { useEffect, useMemo, useState } from 'react'
import type { Discovery, Explanation, Page, Row } from '../../src/http/wire.ts'
import { useLive } from '../api/live.ts'
import { useQuery } from '../api/use-query.ts'
import { Action } from '../parts/action.tsx'
import { Badge, toneOf } from '../parts/badge.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ExplanationView } from '../parts/explanation.tsx'
import { Ago } from '../parts/now.tsx'
import { Facts, PageHead, Panel } from '../parts/panel.tsx'
import { Answered, Empty, Failed, Loading } from '../parts/states.tsx'
import { useSteadyList } from '../parts/steady-list.ts'
import { Link, useFilters } from '../router.tsx'
import { InflowChart } from './inflow-chart.tsx'
import { RowTallies } from './row-tallies.tsx'

const STATES = ['waiting', 'claimed', 'backing-off', 'quarantined'] as const

export function DiscoveryPage({ name }: { name: string }) {
  const path = `/discoveries/${encodeURIComponent(name)}`
  const query = useQuery<Discovery>(path)
  const told = useLive((live) => live.discoveries?.find((one) => one.name === name))
  if (query.error?.code === 'UNKNOWN_DISCOVERY' || query.error?.code === 'BAD_REQUEST')
    return (
      <Empty icon="search" title="There is no such discovery" isPage>
        <Link to="/discoveries">All discoveries</Link>
      </Empty>
    )
  if (query.data === null)
    return query.error === null ? (
      <Loading rows={8} />
    ) : (
      <Failed error={query.error} onRetry={query.refetch} />
    )
  const discovery: Discovery = { ...query.data, ...told }
  const { paused, pausedReason, createIndex, quarantined } = discovery
  return (
    <>
      <p className="crumbs">
        <Link to="/discoveries">Discoveries</Link> / {name}
      </p>
      <PageHead
        title={
          <>
            {name} {paused && <Badge status="paused" />}
          </>
        }
        note={pausedReason ?? undefined}
      >
        {(quarantined ?? 0) > 0 && (
          <Action path={`${path}/release`} icon="release" done="All are released from quarantine">
            Release all
          </Action>
        )}
        {paused ? (
          <Action path={`${path}/resume`} icon="resume" tone="primary" done={`${name} goes on`}>
            Resume
          </Action>
        ) : (
          <Action path={`${path}/pause`} icon="pause" done={`${name} is paused`}>
            Pause
          </Action>
        )}
      </PageHead>
      {createIndex !== null && (
        <div className="callout" data-tone="amber">
          <p>
            To find rows that need work, rows that do not are read, too: slow on a large table. This index
            helps.
          </p>
          <div className="advice">
            <code>{createIndex}</code>
            <CopyButton text={createIndex} label="Copy the index" />
          </div>
        </div>
      )}
      <div className="split">
        <Rows path={path} discovery={discovery} />
        <div className="stack">
          <Panel title="How it goes">
            <RowTallies discovery={discovery} />
            <InflowChart path={path} />
          </Panel>
          <Panel title="What it is">
            <Facts
              facts={[
                ['Table', <code key="table">{discovery.table}</code>],
                ['Where', <code key="where">{discovery.where}</code>],
                ['Key', <code key="key">{discovery.key.join(', ')}</code>],
                discovery.version === null
                  ? null
                  : ['Version', <code key="version">{discovery.version}</code>],
                ['Attempts', discovery.maxAttempts],
                ['Crashes', `quarantined after ${discovery.crashLimit}`],
              ]}
            />
          </Panel>
        </div>
      </div>
    </>
  )
}

function Rows({ path, discovery }: { path: string; discovery: Discovery }) {
  const [filters, setFilters] = useFilters()
  const state = STATES.find((one) => one === filters.get('state')) ?? null
  const [trail, setTrail] = useState<string[]>([])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another state begins anew
  useEffect(() => setTrail([]), [state])
  const search = new URLSearchParams({
    limit: '50',
    ...(state === null ? {} : { state }),
    ...(trail.length === 0 ? {} : { cursor: trail.at(-1)! }),
  })
  const query = useQuery<Page<Row>>(`${path}/rows?${search}`)
  const identified = useMemo(
    () => (query.data?.items ?? []).map((row) => ({ ...row, id: row.key })),
    [query.data],
  )
  const { items, hold } = useSteadyList(identified, false, `${search}`)
  const [explained, setExplained] = useState<string | null>(null)
  const next = query.data?.next ?? null
  return (
    <section className="panel" aria-label="Rows">
      <fieldset className="tabs tabs-inside">
        <legend className="visually-hidden">State</legend>
        <button type="button" aria-pressed={state === null} onClick={() => setFilters({ state: null })}>
          All
        </button>
        {STATES.map((one) => (
          <button
            key={one}
            type="button"
            data-tone={toneOf(one)}
            aria-pressed={state === one}
            onClick={() => setFilters({ state: one })}
          >
            {one}
          </button>
        ))}
      </fieldset>
      <Answered query={query} rows={8}>
        {() =>
          items.length === 0 && next === null ? (
            <Empty icon="ok" title={state === null ? 'No row needs work' : `No row is ${state}`} />
          ) : (
            <table className="table rows">
              <thead>
                <tr>
                  <th>Row</th>
                  <th>State</th>
                  <th className="right">Attempts</th>
                  <th className="right">
                    <span className="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody onPointerEnter={() => hold(true)} onPointerLeave={() => hold(false)}>
                {items.map((row) => (
                  <RowLine
                    key={row.key}
                    row={row}
                    path={path}
                    maxAttempts={discovery.maxAttempts}
                    onExplain={setExplained}
                  />
                ))}
              </tbody>
            </table>
          )
        }
      </Answered>
      <footer className="table-foot">
        <span />
        <span className="pager">
          <button
            type="button"
            className="button"
            data-small
            disabled={trail.length === 0}
            onClick={() => setTrail(trail.slice(0, -1))}
          >
            Before
          </button>
          <button
            type="button"
            className="button"
            data-small
            disabled={next === null}
            onClick={() => setTrail([...trail, next!])}
          >
            More
          </button>
        </span>
      </footer>
      {explained !== null && <ExplainRow path={path} rowKey={explained} onClose={() => setExplained(null)} />}
    </section>
  )
}

function RowLine({
  row,
  path,
  maxAttempts,
  onExplain,
}: {
  row: Row
  path: string
  maxAttempts: number
  onExplain: (key: string) => void
}) {
  const { key, state, attempts, crashes } = row
  const rowPath = `${path}/rows/${encodeURIComponent(key)}`
  return (
    <tr>
      <td className="row-key">
        <span className="cut mono" title={key}>
          {key}
        </span>
        <RowWhat row={row} />
      </td>
      <td>
        <Badge status={state} />
      </td>
      <td className="right num">
        {attempts} / {maxAttempts}
        {crashes > 0 && <span className="error-text">, {crashes} crashed</span>}
      </td>
      <td className="right row-actions">
        <button type="button" className="button" data-small onClick={() => onExplain(key)}>
          Explain
        </button>
        {state === 'quarantined' && (
          <Action path={`${rowPath}/release`} icon="release" small done={`Row ${key} is released`}>
            Release
          </Action>
        )}
        {state === 'backing-off' && (
          <Action path={`${rowPath}/retry`} icon="retry" small done={`Row ${key} is tried again`}>
            Retry
          </Action>
        )}
      </td>
    </tr>
  )
}

function RowWhat({ row: { error, worker, since, nextAt, state, history } }: { row: Row }) {
  return (
    <>
      {error !== null && (
        <details className="row-error">
          <summary>
            <span className="error-text">
              {error.kind === 'crash' ? 'crash: ' : ''}
              {error.message}
            </span>
          </summary>
          {error.stack !== null && <pre>{error.stack}</pre>}
          <ol className="row-history">
            {history.map(({ attempt, at, outcome, message }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: entries are only added
              <li key={index}>
                <span className="num">attempt {attempt}</span> <Badge status={outcome} /> <Ago at={at} />{' '}
                {message !== null && <span className="muted">{message}</span>}
              </li>
            ))}
          </ol>
        </details>
      )}
      {state === 'claimed' && worker !== null && (
        <span className="muted">
          {worker} {since !== null && <Ago at={since} />}
        </span>
      )}
      {state === 'backing-off' && nextAt !== null && (
        <span className="muted">
          again <Ago at={nextAt} />
        </span>
      )}
    </>
  )
}

function ExplainRow({ path, rowKey, onClose }: { path: string; rowKey: string; onClose: () => void }) {
  const query = useQuery<Explanation>(`${path}/rows/${encodeURIComponent(rowKey)}/explain`)
  return (
    <Dialog title={`Why is row ${rowKey} not worked on?`} onClose={onClose}>
      <Answered query={query} rows={4}>
        {(explanation) => <ExplanationView explanation={explanation} />}
      </Answered>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
