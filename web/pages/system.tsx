import { type ReactNode, useState } from 'react'
import type { Backup, DatabaseUse, Stats, System } from '../../src/http/wire/types.ts'
import { type ApiError, ask } from '../api/client.ts'
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
import { OperatorRecord } from './operator-record.tsx'

export function SystemPage() {
  const query = useQuery<System>('/system')
  return (
    <>
      <PageHead title="System">
        <CheckButton />
        <Action
          path="/maintenance/checkpoint"
          icon="queues"
          done="Copied the write-ahead log into the database"
        >
          Checkpoint
        </Action>
        <Action
          path="/maintenance/prune"
          icon="remove"
          done="Removed the finished tasks that retention does not keep"
          confirm={{
            title: 'Prune now',
            text: 'This removes finished tasks that are older than the retention of this server. You cannot undo it.',
          }}
        >
          Prune
        </Action>
      </PageHead>
      <Answered query={query} rows={10}>
        {(system) => (
          <>
            <div className="columns">
              <Database system={system} />
              <Totals system={system} />
              <div className="stack">
                <Backups system={system} />
                <Keeping system={system} />
              </div>
            </div>
            <Supervisors system={system} />
          </>
        )}
      </Answered>
      <OperatorRecord />
    </>
  )
}

const DURABILITY = {
  full: 'full: an acknowledged task survives a power cut',
  normal: 'normal: an acknowledged task survives a crash of the process',
}

function Database({ system: { database, server } }: { system: System }) {
  const { kind, bytes: size, walBytes, durability, migrations } = database
  const stats = useQuery<Stats>('/stats')
  const use = stats.data?.database ?? null
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
              'managed by the server'
            ) : (
              <span key="wal" className="num">
                {bytes(walBytes)}
              </span>
            ),
          ],
          ...(use === null ? [] : [['Write lock', <LockUse key="lock" use={use} />] as [string, ReactNode]]),
          ['Durability', DURABILITY[durability]],
          ['Schema', <Migrations key="tables" migrations={migrations} />],
          ['Server', `Gleaner ${server.version}, Node ${server.node}, ${server.host}, pid ${server.pid}`],
          ['Serving since', <At key="since" at={server.startedAt} />],
          ['Live connections', exactCount(server.listeners)],
        ]}
      />
    </Panel>
  )
}

/** Only one process writes the file at a time: how near that is to its end. */
function LockUse({ use: { busyShare, writesPerSecond, waitsPerSecond, waitMs } }: { use: DatabaseUse }) {
  return (
    <span className="num">
      {`${Number((busyShare * 100).toPrecision(2))} % busy, ${writesPerSecond} writes/s`}
      {waitMs !== null && `, ${waitsPerSecond} waits/s of ${Math.round(waitMs)} ms`}
    </span>
  )
}

function Totals({ system: { totals } }: { system: System }) {
  const { incidents } = totals
  return (
    <Panel title="Totals">
      <Facts
        facts={[
          ['Enqueued', exactCount(totals.enqueued)],
          ['Completed', exactCount(totals.completed)],
          ['Failed', exactCount(totals.failed)],
          ['Retried', exactCount(totals.retried)],
          ['Rows done', exactCount(totals.rowsDone)],
          ['Lost workers', exactCount(incidents.lost ?? 0)],
          ['Items given back', exactCount(incidents.rescued ?? 0)],
          ['Time-outs', exactCount(incidents.timeout ?? 0)],
          ['Late writes refused', exactCount(incidents.fenced ?? 0)],
        ]}
      />
    </Panel>
  )
}

function Keeping({ system: { retention } }: { system: System }) {
  return (
    <Panel title="Retention">
      <Facts
        facts={Object.entries(retention).map(([status, { ageMs, count }]) => [
          status.charAt(0).toUpperCase() + status.slice(1),
          [ageMs === null ? null : duration(ageMs), count === null ? null : `the newest ${exactCount(count)}`]
            .filter((one) => one !== null)
            .join(', ') || 'forever',
        ])}
      />
    </Panel>
  )
}

function Backups({ system: { backups, database } }: { system: System }) {
  const [last] = backups
  return (
    <Panel title="Backups">
      {database.kind === 'postgres' ? (
        <p className="muted">
          Back up PostgreSQL with its own tools. <code>pg_dump</code> copies a database while it is in use.
        </p>
      ) : last === undefined ? (
        <p className="muted">
          No backup yet. <code>gleaner backup &lt;path&gt;</code> makes a verified copy while Gleaner keeps
          running.
        </p>
      ) : (
        <ul className="backups">
          {backups.slice(0, BACKUPS_SHOWN).map((backup) => (
            <BackupLine backup={backup} key={`${backup.startedAt} ${backup.path}`} />
          ))}
        </ul>
      )}
    </Panel>
  )
}

const BACKUPS_SHOWN = 5

function BackupLine({ backup: { path, startedAt, tookMs, bytes: size, error } }: { backup: Backup }) {
  return (
    <li>
      <p>
        <Badge status={error === null ? 'completed' : 'failed'}>
          {error === null ? 'verified' : 'failed'}
        </Badge>{' '}
        <Ago at={startedAt} />
        {size !== null && <span className="muted num">{` · ${bytes(size)} in ${duration(tookMs)}`}</span>}
      </p>
      <p className="mono muted cut" title={path}>
        {path}
      </p>
      {error !== null && <p className="error-text">{error}</p>}
    </li>
  )
}

/** Longer unheard than that, it is not there. */
const UNSEEN_MS = 30_000

function Supervisors({ system: { supervisors } }: { system: System }) {
  return (
    <Panel title="Supervisors" flush>
      {supervisors.length === 0 ? (
        <Empty icon="workers" title="No supervisor yet" />
      ) : (
        <table className="table supervisors">
          <thead>
            <tr>
              <th>Name</th>
              <th>State</th>
              <th>Host</th>
              <th className="right">Workers</th>
              <th className="right">Since</th>
            </tr>
          </thead>
          <tbody>
            {supervisors.map(({ name, host, pid, since, unseenMs, left, workers }) => (
              <tr key={name}>
                <td className="task-name">{name}</td>
                <td>
                  <Badge status={left ? 'stopped' : unseenMs > UNSEEN_MS ? 'unhealthy' : 'running'}>
                    {left ? 'stopped' : unseenMs > UNSEEN_MS ? `silent for ${duration(unseenMs)}` : 'active'}
                  </Badge>
                </td>
                <td>
                  {host} <span className="muted num">pid {pid}</span>
                </td>
                <td className="right num">{plural(workers, 'worker')}</td>
                <td className="right num">
                  <Ago at={since} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

function Migrations({ migrations }: { migrations: System['database']['migrations'] }) {
  return (
    <details>
      <summary>version {migrations.at(-1)?.version ?? '–'}</summary>
      <ul className="migrations">
        {migrations.map(({ version, name, appliedAt }) => (
          <li key={version}>
            <span className="num muted">{version}</span> {name}{' '}
            <span className="muted">
              <Ago at={appliedAt} />
            </span>
          </li>
        ))}
      </ul>
    </details>
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
      if (items.length === 0) say('The check found no problems')
      else
        complain(
          `The check found ${plural(items.length, 'problem')}`,
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
