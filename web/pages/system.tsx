import { useState } from 'react'
import type { Action as ActionRecord, Page, System } from '../../src/http/wire.ts'
import { type ApiError, ask } from '../api/client.ts'
import { writeJson } from '../api/exact-json.ts'
import { useMayAct } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Icon } from '../parts/icon.tsx'
import { Ago, At } from '../parts/now.tsx'
import { Facts, PageHead, Panel } from '../parts/panel.tsx'
import { Answered, Empty } from '../parts/states.tsx'
import { complain, say } from '../parts/toast.tsx'
import { bytes, duration, exactCount, plural } from '../text/format.ts'

export function SystemPage() {
  const query = useQuery<System>('/system')
  return (
    <>
      <PageHead title="System">
        <CheckButton />
        <Action path="/maintenance/checkpoint" icon="queues" done="The write-ahead log is in the database">
          Checkpoint
        </Action>
        <Action path="/maintenance/prune" icon="remove" done="What need not be kept is gone">
          Prune
        </Action>
      </PageHead>
      <Answered query={query} rows={10}>
        {(system) => (
          <div className="columns">
            <Database system={system} />
            <Totals system={system} />
            <Keeping system={system} />
            <Supervisors system={system} />
            <Migrations system={system} />
          </div>
        )}
      </Answered>
      <Actions />
    </>
  )
}

const DURABILITY = {
  full: 'full: what was answered survives a power cut',
  normal: 'normal: what was answered survives a crash of the process',
}

function Database({ system: { database, server } }: { system: System }) {
  const { kind, bytes: size, walBytes, durability, migrations } = database
  return (
    <Panel title="Database">
      <Facts
        facts={[
          ['Kind', kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'],
          [
            'Size',
            <span key="size" className="num">
              {bytes(size)}
            </span>,
          ],
          [
            'Write-ahead log',
            walBytes === null ? (
              'the server’s own'
            ) : (
              <span key="wal" className="num">
                {bytes(walBytes)}
              </span>
            ),
          ],
          ['Durability', DURABILITY[durability]],
          ['Tables', `version ${migrations.at(-1)?.version ?? '–'}`],
          ['Server', `Gleaner ${server.version}, Node ${server.node}, ${server.host}, pid ${server.pid}`],
          ['Serving since', <At key="since" at={server.startedAt} />],
          ['Listening now', plural(server.listeners, 'page')],
        ]}
      />
    </Panel>
  )
}

function Totals({ system: { totals } }: { system: System }) {
  const { incidents } = totals
  return (
    <Panel title="Since the beginning">
      <Facts
        facts={[
          ['Enqueued', exactCount(totals.enqueued)],
          ['Completed', exactCount(totals.completed)],
          ['Failed', exactCount(totals.failed)],
          ['Retried', exactCount(totals.retried)],
          ['Rows done', exactCount(totals.rowsDone)],
          ['Workers lost', exactCount(incidents.lost ?? 0)],
          ['Items rescued from them', exactCount(incidents.rescued ?? 0)],
          ['Timed out', exactCount(incidents.timeout ?? 0)],
          ['Late writes refused', exactCount(incidents.fenced ?? 0)],
        ]}
      />
    </Panel>
  )
}

function Keeping({ system: { retention } }: { system: System }) {
  return (
    <Panel title="What is kept">
      <Facts
        facts={Object.entries(retention).map(([status, { ageMs, count }]) => [
          status.charAt(0).toUpperCase() + status.slice(1),
          [ageMs === null ? null : duration(ageMs), count === null ? null : `the newest ${exactCount(count)}`]
            .filter((one) => one !== null)
            .join(', ') || 'for ever',
        ])}
      />
      <p className="muted note">
        A backup names a file, and no path comes from a browser: <code>gleaner backup &lt;path&gt;</code>{' '}
        makes a verified copy while everything goes on.
      </p>
    </Panel>
  )
}

/** Longer unheard than that, it is not there. */
const UNSEEN_MS = 30_000

function Supervisors({ system: { supervisors } }: { system: System }) {
  return (
    <Panel title="Supervisors" flush>
      {supervisors.length === 0 ? (
        <Empty icon="workers" title="None was ever here" />
      ) : (
        <ul className="glance">
          {supervisors.map(({ name, host, pid, since, unseenMs, left, workers }) => (
            <li key={name}>
              <span className="glance-name">{name}</span>
              <Badge status={left ? 'stopped' : unseenMs > UNSEEN_MS ? 'unhealthy' : 'running'}>
                {left ? 'left' : unseenMs > UNSEEN_MS ? `unheard for ${duration(unseenMs)}` : 'in office'}
              </Badge>
              <span className="glance-note">
                {host}, pid {pid}, {plural(workers, 'worker')}, <Ago at={since} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Migrations({ system: { database } }: { system: System }) {
  return (
    <Panel title="Migrations" flush>
      <ul className="glance">
        {database.migrations.map(({ version, name, appliedAt }) => (
          <li key={version}>
            <span className="num muted">{version}</span>
            <span className="glance-name">{name}</span>
            <span className="glance-note">
              <Ago at={appliedAt} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function CheckButton() {
  const mayAct = useMayAct()
  const [busy, setBusy] = useState(false)
  if (!mayAct) return null
  const onClick = async () => {
    setBusy(true)
    try {
      const { items } = await ask<{ items: { what: string }[] }>('/maintenance/check', 'POST')
      if (items.length === 0) say('The database is sound')
      else
        complain(
          `${plural(items.length, 'thing')} not as it must be`,
          items.map(({ what }) => what).join('; '),
        )
    } catch (error) {
      complain((error as ApiError).message, (error as ApiError).hint)
    }
    setBusy(false)
  }
  return (
    <button type="button" className="button" disabled={busy} aria-busy={busy} onClick={onClick}>
      <Icon name="ok" /> {busy ? 'Checking …' : 'Check'}
    </button>
  )
}

function Actions() {
  const [trail, setTrail] = useState<string[]>([])
  const query = useQuery<Page<ActionRecord>>(
    `/actions?limit=25${trail.length === 0 ? '' : `&cursor=${trail.at(-1)}`}`,
  )
  const next = query.data?.next ?? null
  return (
    <Panel title="What operators did" note="only ever added to" flush>
      <Answered query={query} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="clock" title="Nothing yet" />
          ) : (
            <table className="table actions">
              <thead>
                <tr>
                  <th>What</th>
                  <th>To</th>
                  <th>Who</th>
                  <th>With</th>
                  <th className="right">When</th>
                </tr>
              </thead>
              <tbody>
                {items.map(({ id, at, action, target, user, address, details }) => (
                  <tr key={id}>
                    <td className="task-name">{action}</td>
                    <td>{target ?? <span className="muted">all</span>}</td>
                    <td>{user ?? address ?? 'unknown'}</td>
                    <td className="task-what">
                      <span className="cut mono muted">{details === null ? '' : writeJson(details, 0)}</span>
                    </td>
                    <td className="right num">
                      <Ago at={at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Answered>
      {(next !== null || trail.length > 0) && (
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
              Newer
            </button>
            <button
              type="button"
              className="button"
              data-small
              disabled={next === null}
              onClick={() => setTrail([...trail, next!])}
            >
              Older
            </button>
          </span>
        </footer>
      )}
    </Panel>
  )
}
