import { useEffect, useMemo, useRef, useState } from 'react'
import type { Discovery } from '../../src/http/wire.ts'
import { Chart } from '../parts/chart.tsx'
import { count } from '../text/format.ts'

interface Sample {
  at: number
  left: number
  /** Rows that were done per minute then. */
  drain: number
}

const SAMPLES_MAX = 180
const EVERY_MS = 2_000
/** Kept beyond the page: who comes back sees how it went on. */
const seen = new Map<string, Sample[]>()

/**
 * What comes in against what is done. Gleaner keeps no copy of your rows, so nobody knows how many there were before: it is
 * drawn from what was seen since this page was opened.
 */
export function InflowChart({ discovery }: { discovery: Discovery }) {
  const { name, donePerMinute } = discovery
  const left = (discovery.waiting ?? 0) + (discovery.claimed ?? 0) + (discovery.backingOff ?? 0)
  const latest = useRef({ left, drain: donePerMinute ?? 0 })
  latest.current = { left, drain: donePerMinute ?? 0 }
  const [samples, setSamples] = useState<Sample[]>(seen.get(name) ?? [])
  useEffect(() => {
    const add = () => {
      const next = [...(seen.get(name) ?? []), { at: Date.now(), ...latest.current }].slice(-SAMPLES_MAX)
      seen.set(name, next)
      setSamples(next)
    }
    add()
    const timer = setInterval(add, EVERY_MS)
    return () => clearInterval(timer)
  }, [name])
  const { times, lines, inflow } = useMemo(() => drawn(samples), [samples])
  return (
    <>
      {samples.length < 2 ? (
        <div className="chart-plot" />
      ) : (
        <Chart
          title="Rows left"
          times={times}
          lines={lines}
          format={(value) => (Number.isInteger(value) ? count(value) : '')}
          top={5}
        />
      )}
      <p className="muted num">
        {inflow === null
          ? 'Inflow is known after a minute on this page.'
          : `Coming in ${count(Math.round(inflow))} per min, done ${count(Math.round(donePerMinute ?? 0))} per min.`}
      </p>
    </>
  )
}

const MINUTE_MS = 60_000

function drawn(samples: Sample[]) {
  const last = samples.at(-1)
  const before = last && samples.findLast(({ at }) => at <= last.at - MINUTE_MS)
  // What is left changes by what comes in, less what is done.
  const inflow =
    last === undefined || before === undefined
      ? null
      : Math.max(0, ((last.left - before.left) / (last.at - before.at)) * MINUTE_MS + last.drain)
  return {
    inflow,
    times: samples.map(({ at }) => at),
    lines: [{ label: 'not done', tone: 'violet', area: true, values: samples.map(({ left }) => left) }],
  }
}
