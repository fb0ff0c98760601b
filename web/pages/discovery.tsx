import { useMemo, useState } from 'react'
import type { Discovery, Explanation, Page, Row } from '../../src/http/wire/types.ts'
import { useLive } from '../api/live.ts'
import { useQuery } from '../api/use-query.ts'
import { Action } from '../parts/action.tsx'
import { Badge, toneOf } from '../parts/badge.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ExplanationView } from '../parts/explanation.tsx'
import { Pager, usePages } from '../parts/pager.tsx'
import { Facts, PageHead, Panel } from '../parts/panel.tsx'
import { Answered, Empty, Failed, Loading } from '../parts/states.tsx'
import { useSteadyList } from '../parts/steady-list.ts'
import { Link, useFilters } from '../router.tsx'
import { RowLine } from './discovery-row.tsx'
import { InflowChart } from './inflow-chart.tsx'
import { RowTallies } from './row-tallies.tsx'

const STATES = ['waiting', 'claimed', 'suspended', 'backing-off', 'quarantined'] as const

export function DiscoveryPage({ name }: { name: string }) {
  const path = `/discoveries/${encodeURIComponent(name)}`
  const query = useQuery<Discovery>(path)
  const told = useLive((live) => live.discoveries?.find((one) => one.name === name))
  const toldAt = useLive((live) => live.discoveriesAt)
  if (query.error?.code === 'UNKNOWN_DISCOVERY' || query.error?.code === 'BAD_REQUEST')
    return (
      <Empty icon="search" title="There is no such discovery" isPage>
        <Link to="/discoveries">All discoveries</Link>
      </Empty>
    )
  // Counting the rows of a large table takes a while; listing some does not.
  const discovery = query.data === null || query.at < toldAt ? merged(query.data, told) : query.data
  if (discovery === null && query.error !== null)
    return <Failed error={query.error} onRetry={query.refetch} />
  return (
    <>
      <p className="crumbs">
        <Link to="/discoveries">Discoveries</Link> / {name}
      </p>
      <PageHead
        title={
          <>
            {name} {discovery?.paused && <Badge status="paused" />}
          </>
        }
        note={discovery?.pausedReason ?? undefined}
      >
        {discovery !== null && <DiscoveryActions path={path} discovery={discovery} />}
      </PageHead>
      {discovery?.createIndex && <IndexAdvice statement={discovery.createIndex} />}
      <div className="split">
        <Rows path={path} maxAttempts={discovery?.maxAttempts ?? null} />
        <div className="stack">
          <Panel title="Progress">
            {discovery === null ? (
              <Loading rows={4} label="Counting" />
            ) : (
              <RowTallies discovery={discovery} />
            )}
            <InflowChart path={path} />
          </Panel>
          {discovery !== null && <WhatItIs discovery={discovery} />}
        </div>
      </div>
    </>
  )
}

function merged(read: Discovery | null, told: Told | undefined): Told | null {
  return read === null || told === undefined ? (told ?? read) : { ...read, ...told }
}

/** As it is told: the time of the numbers is no news. */
type Told = Omit<Discovery, 'asOf'>

function DiscoveryActions({ path, discovery }: { path: string; discovery: Told }) {
  const { name, paused, quarantined } = discovery
  const allPaused = useLive((live) => live.counts?.paused ?? false)
  return (
    <>
      {(quarantined ?? 0) > 0 && (
        <Action path={`${path}/release`} icon="release" done="Released all rows from quarantine">
          Release all
        </Action>
      )}
      {allPaused ? null : paused ? (
        <Action path={`${path}/resume`} icon="resume" tone="primary" done={`Resumed ${name}`}>
          Resume
        </Action>
      ) : (
        <Action path={`${path}/pause`} icon="pause" done={`Paused ${name}`}>
          Pause
        </Action>
      )}
    </>
  )
}

function IndexAdvice({ statement }: { statement: string }) {
  return (
    <div className="callout" data-tone="amber">
      <p>
        To find rows that need work, the database also reads rows that do not. This is slow on a large table.
        Create this index:
      </p>
      <div className="advice">
        <code>{statement}</code>
        <CopyButton text={statement} label="Copy the statement" />
      </div>
    </div>
  )
}

function WhatItIs({ discovery }: { discovery: Told }) {
  const { table, where, key, version, maxAttempts, crashLimit } = discovery
  return (
    <Panel title="Definition">
      <Facts
        facts={[
          ['Table', <code key="table">{table}</code>],
          ['Where', <code key="where">{where}</code>],
          ['Key', <code key="key">{key.join(', ')}</code>],
          version === null ? null : ['Version', <code key="version">{version}</code>],
          ['Attempts', maxAttempts],
          ['Crashes', `quarantined after ${crashLimit}`],
        ]}
      />
    </Panel>
  )
}

function Rows({ path, maxAttempts }: { path: string; maxAttempts: number | null }) {
  const [filters, setFilters] = useFilters()
  const state = STATES.find((one) => one === filters.get('state')) ?? null
  const pages = usePages(state ?? '')
  const search = new URLSearchParams({
    limit: '50',
    ...(state === null ? {} : { state }),
    ...(pages.cursor === undefined ? {} : { cursor: pages.cursor }),
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
                    maxAttempts={maxAttempts}
                    onExplain={setExplained}
                  />
                ))}
              </tbody>
            </table>
          )
        }
      </Answered>
      <Pager pages={pages} next={next} words={['Previous', 'Next']} />
      {explained !== null && <ExplainRow path={path} rowKey={explained} onClose={() => setExplained(null)} />}
    </section>
  )
}

function ExplainRow({ path, rowKey, onClose }: { path: string; rowKey: string; onClose: () => void }) {
  const query = useQuery<Explanation>(`${path}/rows/${encodeURIComponent(rowKey)}/explain`)
  return (
    <Dialog title={`Why is row ${rowKey} not running?`} onClose={onClose}>
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
