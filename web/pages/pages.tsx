import type { ReactNode } from 'react'
import { Empty } from '../parts/states.tsx'
import { Link } from '../router.tsx'
import { DiscoveriesPage } from './discoveries.tsx'
import { DiscoveryPage } from './discovery.tsx'
import { EnqueuePage } from './enqueue.tsx'
import { OverviewPage } from './overview.tsx'
import { QueuesPage } from './queues.tsx'
import { SystemPage } from './system.tsx'
import { TaskPage } from './task.tsx'
import { TasksPage } from './tasks.tsx'
import { WorkersPage } from './workers.tsx'

interface Found {
  title: string
  page: ReactNode
}

export function pageAt(path: string): Found {
  const [, first = '', second] = path.split('/').map(decode)
  if (second !== undefined && first === 'tasks')
    return { title: `Task ${second}`, page: <TaskPage id={second} key={second} /> }
  if (second !== undefined && first === 'discoveries')
    return { title: second, page: <DiscoveryPage name={second} key={second} /> }
  switch (first) {
    case '':
      return { title: 'Overview', page: <OverviewPage /> }
    case 'tasks':
      return { title: 'Tasks', page: <TasksPage /> }
    case 'enqueue':
      return { title: 'Enqueue', page: <EnqueuePage /> }
    case 'queues':
      return { title: 'Queues and schedules', page: <QueuesPage /> }
    case 'discoveries':
      return { title: 'Discoveries', page: <DiscoveriesPage /> }
    case 'workers':
      return { title: 'Workers', page: <WorkersPage /> }
    case 'system':
      return { title: 'System', page: <SystemPage /> }
    default:
      return { title: 'Not found', page: <NotFound /> }
  }
}

function NotFound() {
  return (
    <Empty icon="search" title="There is no such page" isPage>
      <Link to="/">Go to the overview</Link>
    </Empty>
  )
}

/** What somebody typed may be no encoding of anything. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
