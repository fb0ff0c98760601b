import type { Discovery } from '../../src/http/wire/types.ts'
import { useLive } from '../api/live.ts'
import { Badge } from '../parts/badge.tsx'
import { PageHead, Panel } from '../parts/panel.tsx'
import { Empty, Loading } from '../parts/states.tsx'
import { Link } from '../router.tsx'
import { RowTallies } from './row-tallies.tsx'

export function DiscoveriesPage() {
  const discoveries = useLive((live) => live.discoveries)
  return (
    <>
      <PageHead title="Discoveries" note="Rows of your own tables that need work" />
      {discoveries === null ? (
        <Loading />
      ) : discoveries.length === 0 ? (
        <Empty icon="discoveries" title="No discovery yet">
          Point Gleaner at a table of yours with <code>defineDiscovery</code>: workers find its rows, run your
          code and mark them done.
        </Empty>
      ) : (
        <div className="cards">
          {discoveries.map((discovery) => (
            <Card key={discovery.name} discovery={discovery} />
          ))}
        </div>
      )}
    </>
  )
}

function Card({ discovery }: { discovery: Omit<Discovery, 'asOf'> }) {
  const { name, table, where, paused, createIndex } = discovery
  return (
    <Panel
      title={name}
      note={paused ? <Badge status="paused" /> : undefined}
      actions={<Link to={`/discoveries/${encodeURIComponent(name)}`}>Rows</Link>}
    >
      <RowTallies discovery={discovery} />
      <p className="muted mono where">
        {table} where {where}
      </p>
      {createIndex !== null && <Badge status="unhealthy">needs an index</Badge>}
    </Panel>
  )
}
