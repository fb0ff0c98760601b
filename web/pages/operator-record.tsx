import { writeExactly } from '../../src/exact-json.ts'
import type { Action as ActionRecord, Page } from '../../src/http/wire/types.ts'
import { useQuery } from '../api/use-query.ts'
import { Ago } from '../parts/now.tsx'
import { Pager, usePages } from '../parts/pager.tsx'
import { Panel } from '../parts/panel.tsx'
import { Answered, Empty } from '../parts/states.tsx'

/** Who asked for what, page by page. */
export function OperatorRecord() {
  const pages = usePages()
  const query = useQuery<Page<ActionRecord>>(
    `/actions?limit=25${pages.cursor === undefined ? '' : `&cursor=${pages.cursor}`}`,
  )
  return (
    <Panel title="Actions of operators" flush>
      <Answered query={query} rows={3}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="clock" title="No action yet" />
          ) : (
            <table className="table actions">
              <thead>
                <tr>
                  <th>Action</th>
                  <th>Target</th>
                  <th>User</th>
                  <th>Details</th>
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
                      <span className="cut mono muted">{details === null ? '' : writeExactly(details)}</span>
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
      <Pager pages={pages} next={query.data?.next ?? null} />
    </Panel>
  )
}
