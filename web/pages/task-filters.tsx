import { type FormEvent, useEffect, useState } from 'react'
import type { Counts, Definition } from '../../src/http/wire/types.ts'
import { useLive } from '../api/live.ts'
import { useQuery } from '../api/use-query.ts'
import { toneOf } from '../parts/badge.tsx'
import { Icon } from '../parts/icon.tsx'
import { go, useFilters } from '../router.tsx'
import { count } from '../text/format.ts'

const STATUSES = ['queued', 'running', 'scheduled', 'suspended', 'completed', 'failed', 'cancelled'] as const
const RUN_TIMES = ['1m', '10m', '1h', '1d']
const SEARCHES = { error: 'Error text', key: 'Key', requires: 'Requires', id: 'ID' } as const
const EXAMPLES = {
  error: 'Text of the error',
  key: 'The whole key',
  requires: 'region=eu',
  id: 'Task ID',
} as const
type Search = keyof typeof SEARCHES

/** What of an address the server understands as a filter. */
export function filterOf(filters: URLSearchParams): Record<string, string> {
  const known = [
    'status',
    'queue',
    'name',
    'key',
    'requires',
    'error',
    'createdAfter',
    'createdBefore',
    'startedBefore',
    'runningLongerThan',
    'finishedAfter',
    'finishedBefore',
  ]
  return Object.fromEntries(
    known.flatMap((name) => {
      const value = filters.get(name)
      return value === null || value === '' ? [] : [[name, value]]
    }),
  )
}

export function StatusTabs() {
  const [filters, setFilters] = useFilters()
  const live = useLive((state) => state.counts)
  const status = filters.get('status')
  const queue = live?.queues.find(({ name }) => name === filters.get('queue'))
  const counts: Counts | undefined = queue ?? live?.counts
  return (
    <fieldset className="tabs">
      <legend className="visually-hidden">Status</legend>
      <button type="button" aria-pressed={status === null} onClick={() => setFilters({ status: null })}>
        All
      </button>
      {STATUSES.map((one) => (
        <button
          key={one}
          type="button"
          data-tone={toneOf(one)}
          aria-pressed={status === one}
          onClick={() =>
            setFilters({ status: one, ...(one === 'running' ? {} : { runningLongerThan: null }) })
          }
        >
          {one}
          <span className="num tab-count">{counts === undefined ? '' : count(counts[one])}</span>
        </button>
      ))}
    </fieldset>
  )
}

export function TaskFilters() {
  const [filters, setFilters] = useFilters()
  const queues = useLive((live) => live.counts?.queues)
  const definitions = useQuery<{ items: Definition[] }>('/definitions', { live: false })
  const names = (definitions.data?.items ?? []).map(({ name }) => name)
  return (
    <div className="filters">
      <Choice
        label="Queue"
        value={filters.get('queue')}
        options={(queues ?? []).map(({ name }) => name).sort()}
        onChange={(queue) => setFilters({ queue })}
      />
      <Choice
        label="Task"
        value={filters.get('name')}
        options={names.sort()}
        onChange={(name) => setFilters({ name })}
      />
      <Choice
        label="Running longer than"
        value={filters.get('runningLongerThan')}
        options={RUN_TIMES}
        // Only a running task has run for a time.
        onChange={(time) =>
          setFilters({ runningLongerThan: time, ...(time === null ? {} : { status: 'running' }) })
        }
      />
      <SearchBox />
    </div>
  )
}

/** What is in the address is offered, too: the code of it may be elsewhere. */
function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string
  value: string | null
  options: string[]
  onChange: (value: string | null) => void
}) {
  const all = [...new Set([...options, ...(value === null ? [] : [value])])]
  return (
    <label className="choice">
      <span>{label}</span>
      <select value={value ?? ''} onChange={(event) => onChange(event.target.value || null)}>
        <option value="">all</option>
        {all.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}

function SearchBox() {
  const [filters, setFilters] = useFilters()
  const active: Search = (['key', 'requires'] as const).find((one) => filters.get(one) !== null) ?? 'error'
  const [by, setBy] = useState<Search>(active)
  const given = filters.get(by) ?? ''
  const [text, setText] = useState(given)
  useEffect(() => setText(given), [given])
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const value = text.trim()
    if (by === 'id') return value === '' ? undefined : go(`/tasks/${encodeURIComponent(value)}`)
    setFilters({ key: null, requires: null, error: null, [by]: value || null })
  }
  return (
    <form className="search" onSubmit={onSubmit}>
      <label>
        <span className="visually-hidden">Search by</span>
        <select value={by} onChange={(event) => setBy(event.target.value as Search)}>
          {Object.entries(SEARCHES).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <input
        type="search"
        aria-label={`Search by ${SEARCHES[by]}`}
        placeholder={EXAMPLES[by]}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="icon-button" aria-label="Search">
        <Icon name="search" />
      </button>
    </form>
  )
}
