import { useMemo, useState } from 'react'
import type { Range, RowHistory } from '../../src/http/wire/types.ts'
import { useQuery } from '../api/use-query.ts'
import { Chart } from '../parts/chart.tsx'
import { Segments } from '../parts/segments.tsx'
import { Answered } from '../parts/states.tsx'
import { count, pace, plural } from '../text/format.ts'
import { perMinute, RANGES } from './ranges.ts'

/** What comes in against what is done: as somebody saw it who counted, here or elsewhere. */
export function InflowChart({ path }: { path: string }) {
  const [range, setRange] = useState<Range>('hour')
  const query = useQuery<RowHistory>(`${path}/history?range=${range}`)
  return (
    <div className="inflow">
      <Segments label="Range of the charts" options={RANGES} value={range} onChange={setRange} />
      <Answered query={query}>{(history) => <Charts history={history} days={range === 'week'} />}</Answered>
    </div>
  )
}

function Charts({ history, days }: { history: RowHistory; days: boolean }) {
  const { times, flow, left } = useMemo(() => linesOf(history), [history])
  return (
    <>
      <Chart title="Rows per minute" times={times} days={days} lines={flow} format={pace} top={5} />
      <p className="muted num">{plural(history.doneEver, 'row')} done in total</p>
      <Chart title="Unfinished rows" times={times} days={days} lines={left} format={whole} top={5} />
    </>
  )
}

function linesOf(history: RowHistory) {
  const { steps } = history
  return {
    times: steps.map(({ at }) => at),
    flow: [
      { label: 'new', tone: 'violet', values: perMinute(history, (step) => step.came) },
      { label: 'done', tone: 'green', area: true, values: perMinute(history, (step) => step.done) },
    ],
    left: [{ label: 'unfinished', tone: 'violet', area: true, values: steps.map((step) => step.left) }],
  }
}

function whole(value: number): string {
  return Number.isInteger(value) ? count(value) : ''
}
