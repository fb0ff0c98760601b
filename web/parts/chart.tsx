import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { dayOf, timeShort } from '../text/format.ts'

export interface Line {
  label: string
  /** A colour of the theme: `green`. */
  tone: string
  values: (number | null)[]
  /** Filled down to the axis. */
  area?: boolean
}

export interface ChartProps {
  /** What it shows, for those who do not see it. */
  title: string
  /** Milliseconds. */
  times: number[]
  lines: Line[]
  format: (value: number) => string
  /** Where the axis ends at least. */
  top?: number
  /** Longer than a day: dates instead of hours. */
  days?: boolean
}

const HEIGHT = 150

export function Chart(props: ChartProps) {
  const { title, times, lines, format } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const shape = lines.map((line) => `${line.label} ${isSparse(line)}`).join() + props.days

  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew for another shape or theme; data comes below
  useEffect(() => {
    const element = place.current!
    const make = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(props, element), dataOf(props), element)
    }
    make()
    const resize = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    )
    resize.observe(element)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', make)
    addEventListener('gleaner-theme', make)
    return () => {
      resize.disconnect()
      dark.removeEventListener('change', make)
      removeEventListener('gleaner-theme', make)
      plot.current?.destroy()
      plot.current = null
    }
  }, [shape])

  useEffect(() => {
    plot.current?.setData(dataOf({ times, lines }))
  }, [times, lines])

  const last = (values: (number | null)[]) => values.findLast((value) => value !== null)
  const said = lines.map(({ label, values }) => {
    const value = last(values)
    return `${label} ${value === undefined || value === null ? 'none' : format(value)}`
  })
  return (
    <figure className="chart">
      <figcaption>
        <span className="chart-title">{title}</span>
        <span className="chart-legend">
          {lines.map(({ label, tone }) => (
            <span key={label} data-tone={tone}>
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} className="chart-plot" role="img" aria-label={`${title}: now ${said.join(', ')}`} />
    </figure>
  )
}

/** Too few for a line: they are drawn as points. */
function isSparse({ values }: Line): boolean {
  return values.filter((value) => value !== null).length <= 2
}

function dataOf({ times, lines }: Pick<ChartProps, 'times' | 'lines'>): uPlot.AlignedData {
  return [times.map((at) => at / 1000), ...lines.map(({ values }) => values)]
}

function optionsOf({ lines, format, top, days }: ChartProps, element: HTMLElement): uPlot.Options {
  const colour = coloursOf(element)
  const axis = { stroke: colour('--muted'), ticks: { show: false }, font: '11px system-ui, sans-serif' }
  return {
    width: Math.max(element.clientWidth, 50),
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 18, 0, 0],
    cursor: { y: false, points: { size: 6 }, drag: { setScale: false } },
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(top ?? 0, max * 1.12, 1e-9) || 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 70,
        values: (_plot, splits) => splits.map((at) => (days ? dayOf : timeShort)(at * 1000)),
      },
      {
        ...axis,
        size: 48,
        space: 36,
        grid: { stroke: colour('--line'), width: 1 },
        values: (_plot, splits) => splits.map((value) => format(value)),
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(`--${line.tone}`),
        width: 1.75,
        fill: line.area ? colour(`--${line.tone}`, 0.14) : undefined,
        points: { show: isSparse(line), size: 5 },
        spanGaps: true,
      })),
    ],
    plugins: [tooltip(format, days === true)],
  }
}

/** What a variable of the theme is now, as a canvas understands it. */
function coloursOf(element: HTMLElement): (name: string, opacity?: number) => string {
  const probe = element.appendChild(document.createElement('i'))
  return (name, opacity = 1) => {
    probe.style.color = `color-mix(in srgb, var(${name}) ${opacity * 100}%, transparent)`
    const { color } = getComputedStyle(probe)
    return color
  }
}

/** What the lines say where the pointer is. */
function tooltip(format: (value: number) => string, days: boolean): uPlot.Plugin {
  const box = document.createElement('div')
  box.className = 'chart-tip'
  box.hidden = true
  return {
    hooks: {
      init: (plot) => void plot.over.appendChild(box),
      setCursor(plot) {
        const { idx, left = 0 } = plot.cursor
        box.hidden = idx === null || idx === undefined || left < 0
        if (box.hidden) return
        const at = plot.data[0][idx!]! * 1000
        const when = days ? `${dayOf(at)} ${timeShort(at)}` : timeShort(at)
        const rows = plot.series.slice(1).map((series, line) => {
          const value = plot.data[line + 1]![idx!]
          return `${series.label}  ${value === null || value === undefined ? '–' : format(value)}`
        })
        box.textContent = [when, ...rows].join('\n')
        box.style.left = `${Math.min(Math.max(left, 50), plot.over.clientWidth - 50)}px`
      },
    },
  }
}
