import { useLive } from '../api/live.ts'
import { Badge } from '../parts/badge.tsx'
import { Since } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'

/** Components of the user, where there are any. */
export function Components() {
  const health = useLive((live) => live.health)
  const components = (health?.components ?? []).filter(({ kind }) => kind === 'component')
  if (components.length === 0) return null
  return (
    <Panel title="Your components" flush>
      <table className="table">
        <thead>
          <tr>
            <th>Component</th>
            <th>Health</th>
            <th>Now</th>
            <th className="right">For</th>
          </tr>
        </thead>
        <tbody>
          {components.map(({ id, status, since, item, lost }) => (
            <tr key={id}>
              <td className="cut">{id}</td>
              <td>
                <Badge status={status} />
              </td>
              <td className="cut">{lost ? 'no longer reported' : (item ?? '–')}</td>
              <td className="right num">{since !== null && <Since at={since} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}
