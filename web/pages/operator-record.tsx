import { useState } from 'react'
import type { Action as ActionRecord, Page } from '../../src/http/wire.ts'
import { writeJson } from '../api/exact-json.ts'
import { useQuery } from '../api/use-query.ts'
import { Ago } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'
import { Answered, Empty } from '../parts/states.tsx'

/** Who asked for what, page by page. */
export function OperatorRecord() {
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
