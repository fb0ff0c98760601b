import { useEffect, useMemo, useState } from 'react'
import type { Page, Task } from '../../src/http/wire/types.ts'
import { useMayAct } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { Icon } from '../parts/icon.tsx'
import { Pager, usePages } from '../parts/pager.tsx'
import { PageHead } from '../parts/panel.tsx'
import { Answered, Empty } from '../parts/states.tsx'
import { useSteadyList } from '../parts/steady-list.ts'
import { Link, useFilters } from '../router.tsx'
import { plural } from '../text/format.ts'
import { BulkBar } from './task-bulk.tsx'
import { filterOf, StatusTabs, TaskFilters } from './task-filters.tsx'
import { TaskTable } from './task-table.tsx'

const PAGE = 50

export function TasksPage() {
  const [filters] = useFilters()
  const mayAct = useMayAct()
  const filter = useMemo(() => filterOf(filters), [filters])
  const words = JSON.stringify(filter)
  const pages = usePages(words)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  // biome-ignore lint/correctness/useExhaustiveDependencies: other filters begin anew
  useEffect(() => setSelected(new Set()), [words])
  const query = useQuery<Page<Task>>(listPath(filter, pages.cursor))
  const { items, held, fresh, hold, catchUp } = useSteadyList(
    query.data?.items ?? [],
    selected.size > 0,
    `${words}${pages.cursor}`,
  )
  const next = query.data?.next ?? null

  return (
    <>
      <PageHead title="Tasks">
        {mayAct && (
          <Link to="/enqueue" className="button" data-tone="primary">
            <Icon name="enqueue" /> Enqueue
          </Link>
        )}
      </PageHead>
      <StatusTabs />
      <TaskFilters />
      {/* The foot belongs to it: its button must not vanish while the pointer is on its way to it. */}
      <section
        className="panel"
        aria-label="Tasks"
        onPointerEnter={() => hold(true)}
        onPointerLeave={() => hold(false)}
      >
        {items.length > 0 && (
          <BulkBar filter={filter} tasks={items} selected={selected} onClear={() => setSelected(new Set())} />
        )}
        <Answered query={query} rows={10}>
          {() =>
            items.length === 0 && next === null ? (
              <NoTasks isFiltered={words !== '{}'} />
            ) : (
              <TaskTable tasks={items} selected={selected} onSelect={setSelected} selectable={mayAct} />
            )
          }
        </Answered>
        <Pager pages={pages} next={next}>
          {held && fresh > 0 ? (
            <button type="button" className="button" data-small onClick={catchUp}>
              Show {plural(fresh, 'change')}
            </button>
          ) : (
            query.data !== null && `${plural(items.length, 'task')} on this page`
          )}
        </Pager>
      </section>
    </>
  )
}

function listPath(filter: Record<string, string>, cursor: string | undefined): string {
  const query = new URLSearchParams({
    ...filter,
    limit: String(PAGE),
    ...(cursor === undefined ? {} : { cursor }),
  })
  return `/tasks?${query}`
}

function NoTasks({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty icon="search" title="No matching task">
        <Link to="/tasks">Show all tasks</Link>
      </Empty>
    )
  return (
    <Empty icon="tasks" title="No task yet">
      Enqueue one here, or from your code: <code>gleaner.enqueue(task, input)</code>
    </Empty>
  )
}
