import type { HealthRecord, Lane, Page, Worker } from '../../src/http/wire/types.ts'
import { useQuery } from '../api/use-query.ts'
import { Badge } from '../parts/badge.tsx'
import { Ago } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'
import { Answered, Empty } from '../parts/states.tsx'
import { bytes } from '../text/format.ts'

const SHOWN = 20

interface Ended {
  worker: string
  at: number
  code: number | null
  signal: string | null
  reason: string
  phase: string | null
  rss: number | null
  pid: number | null
  items: string[]
}

/** Why processes ended, the last first: the signal, what they were at, what they held. */
export function Exits({ workers, lanes }: { workers: Worker[]; lanes: Lane[] }) {
  const exits = exitsOf(workers, lanes).slice(0, SHOWN)
  return (
    <Panel title="Exits" note={exits.length === 0 ? undefined : 'how worker processes ended'} flush>
      {exits.length === 0 ? (
        <Empty icon="ok" title="No process has ended">
          When a process ends, its cause appears here.
        </Empty>
      ) : (
        <table className="table exits">
          <thead>
            <tr>
              <th>Worker</th>
              <th>Exit</th>
              <th>Cause</th>
              <th>Phase at exit</th>
              <th className="right">Memory</th>
              <th className="right">When</th>
            </tr>
          </thead>
          <tbody>
            {exits.map((exit) => (
              <tr key={`${exit.worker} ${exit.at}`}>
                <td className="task-name">
                  {exit.worker.replace(/^worker:/, '')}{' '}
                  {exit.pid !== null && <span className="muted num">pid {exit.pid}</span>}
                </td>
                <td>
                  <Badge status={exit.code === 0 ? 'stopped' : 'crashed'}>
                    {exit.signal ?? `exit code ${exit.code ?? '?'}`}
                  </Badge>
                </td>
                <td className="task-what">{exit.reason}</td>
                <td>
                  {exit.phase?.replaceAll('_', ' ') ?? '–'}
                  {exit.items.length > 0 && <span className="muted">: {exit.items.join(', ')}</span>}
                </td>
                <td className="right num">{exit.rss === null ? '–' : bytes(exit.rss)}</td>
                <td className="right num">
                  <Ago at={exit.at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

/** Those that were seen here, and of others the last one, which they remember themselves. */
function exitsOf(workers: Worker[], lanes: Lane[]): Ended[] {
  const seen = lanes.flatMap(({ worker, exits }) => exits.map((exit) => ({ worker, ...exit })))
  const remembered = workers.flatMap(({ id, lastExit }) =>
    lastExit === null || seen.some(({ worker, at }) => worker === id && at === lastExit.at)
      ? []
      : [{ worker: id, pid: null, items: [], ...lastExit }],
  )
  return [...seen, ...remembered].sort((a, b) => b.at - a.at)
}

export function HealthHistory() {
  const query = useQuery<Page<HealthRecord>>(`/health/history?changes=true&limit=${SHOWN}`)
  return (
    <Panel title="Health history" flush>
      <Answered query={query} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="clock" title="No change yet" />
          ) : (
            <ol className="changes">
              {items.map(({ at, component, status, changedFrom }, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two changes may be of the same moment
                <li key={`${at} ${component} ${index}`}>
                  <span className="muted num">
                    <Ago at={at} />
                  </span>
                  <span>{component.replace(/^worker:/, '')}</span>
                  <span>
                    {changedFrom !== null && <span className="muted">{changedFrom} → </span>}
                    <Badge status={status} />
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Answered>
    </Panel>
  )
}
