import type { Discovery } from '../../src/http/wire/types.ts'
import { toneOf } from '../parts/badge.tsx'
import { count, duration, exactCount, rate } from '../text/format.ts'

const STATES = [
  ['waiting', 'waiting'],
  ['claimed', 'claimed'],
  ['suspended', 'suspended'],
  ['backingOff', 'backing-off'],
  ['quarantined', 'quarantined'],
] as const

/** How many rows are in which state, how fast they go, and how long it takes. */
export function RowTallies({ discovery }: { discovery: Omit<Discovery, 'asOf'> }) {
  const { donePerMinute, averageMs, etaMs, waiting } = discovery
  if (waiting === null)
    return <p className="field-error">Gleaner cannot read its table. The log of the server says why.</p>
  const total = STATES.reduce((sum, [field]) => sum + (discovery[field] ?? 0), 0)
  const pace = rate(donePerMinute ?? 0)
  return (
    <>
      <div className="state-bar" aria-hidden="true">
        {STATES.filter(([field]) => (discovery[field] ?? 0) > 0).map(([field, state]) => (
          <i
            key={field}
            data-tone={toneOf(state)}
            style={{ flexGrow: (discovery[field] ?? 0) / Math.max(1, total) }}
          />
        ))}
      </div>
      <ul className="tallies">
        {STATES.map(([field, state]) => (
          <li key={field} data-tone={toneOf(state)}>
            <span>
              <span className="num" title={exactCount(discovery[field] ?? 0)}>
                {count(discovery[field] ?? 0)}
              </span>
              <span className="muted">{state}</span>
            </span>
          </li>
        ))}
      </ul>
      <dl className="facts">
        <div>
          <dt>Done</dt>
          <dd className="num">
            {pace.value} {pace.unit}
            {averageMs !== null && `, ${duration(averageMs)} each`}
          </dd>
        </div>
        <div>
          <dt>Time left</dt>
          <dd className="num">
            {etaMs === null ? 'no progress' : etaMs === 0 ? 'no rows need work' : duration(etaMs)}
          </dd>
        </div>
      </dl>
    </>
  )
}
