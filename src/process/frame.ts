import {
  HEALTHS,
  type Health,
  healthOfPhase,
  PHASES,
  type Phase,
  type ProgramHealth,
} from '../model/worker.ts'

/** One line on a worker's health pipe: `HEALTH|{"component_id":"worker:ml:0","status":"healthy","phase":"idle"}`. */
export interface Frame {
  kind: 'frame'
  componentId: string
  status: Health
  /** Null: a worker in another language that says only how it is. */
  phase: Phase | null
  /** It starts nothing more, although what it has begun may still run; null: nothing was said about it. */
  paused: boolean | null
  /** Why it backs off; null: nothing was said about it. */
  reason: string | null
  currentJob: string | null
  incarnation: number | null
  seq: number | null
  current: FrameItem[]
  rss: number | null
  /** For how long its event loop has not turned. */
  loopLagMs: number | null
  processed: number | null
  errors: number | null
  metrics: Record<string, number>
  /** What the program of a worker says of itself; null: it has none, or it said nothing. */
  program: ProgramHealth | null
}

export interface FrameItem {
  item: string
  fence: number | null
  since: number
  deadline: number | null
}

/** Anything else that was on the pipe: counted, never fatal. */
export interface Noise {
  kind: 'noise'
  why: 'not a frame' | 'not JSON' | 'no component_id' | 'no status'
}

const PREFIX = 'HEALTH|'
const ITEMS_MAX = 100
const METRICS_MAX = 50
const TEXT_MAX = 300

export function decodeFrame(line: string): Frame | Noise {
  if (!line.startsWith(PREFIX)) return noise('not a frame')
  const said = parsed(line.slice(PREFIX.length))
  if (said === undefined) return noise('not JSON')
  const componentId = text(said.component_id)
  if (componentId === null) return noise('no component_id')
  const phase = oneOf(PHASES, said.phase)
  const status = oneOf(HEALTHS, said.status) ?? (phase === null ? null : healthOfPhase(phase))
  if (status === null) return noise('no status')
  return {
    kind: 'frame',
    componentId,
    status,
    phase,
    paused: typeof said.paused === 'boolean' ? said.paused : null,
    reason: text(said.reason),
    currentJob: text(said.current_job),
    incarnation: number(said.incarnation),
    seq: number(said.seq),
    current: items(said.current),
    rss: number(said.rss),
    loopLagMs: number(said.loop_lag_ms),
    processed: number(said.processed),
    errors: number(said.errors),
    metrics: metrics(said.metrics),
    program: program(said.program),
  }
}

/** Those fields are left out that nothing was said about. */
export function encodeFrame(frame: Omit<Frame, 'kind'>): string {
  const { componentId, status, phase, currentJob, loopLagMs, current, metrics, program, ...rest } = frame
  const said = {
    component_id: componentId,
    status,
    phase,
    current_job: currentJob,
    ...rest,
    loop_lag_ms: loopLagMs,
    current: current.length > 0 ? current.slice(0, ITEMS_MAX) : null,
    metrics: Object.keys(metrics).length > 0 ? metrics : null,
    program: program === null ? null : programSaid(program),
  }
  return `${PREFIX}${JSON.stringify(said, (_key, value) => value ?? undefined)}\n`
}

function noise(why: Noise['why']): Noise {
  return { kind: 'noise', why }
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, TEXT_MAX) : null
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

function oneOf<T extends string>(all: readonly T[], value: unknown): T | null {
  return all.find((one) => one === value) ?? null
}

function items(value: unknown): FrameItem[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, ITEMS_MAX).flatMap((one) => {
    const [item, since] = [text(one?.item), number(one?.since)]
    if (item === null || since === null) return []
    return [{ item, since, fence: number(one.fence), deadline: number(one.deadline) }]
  })
}

function programSaid({ status, phase, currentJob, metrics }: ProgramHealth) {
  return { status, phase, current_job: currentJob, metrics }
}

function program(value: unknown): ProgramHealth | null {
  if (typeof value !== 'object' || value === null) return null
  const said = value as Record<string, unknown>
  const status = oneOf(HEALTHS, said.status)
  if (status === null) return null
  return {
    status,
    phase: oneOf(PHASES, said.phase),
    currentJob: text(said.current_job),
    metrics: metrics(said.metrics),
  }
}

function metrics(value: unknown): Record<string, number> {
  if (typeof value !== 'object' || value === null) return {}
  const entries = Object.entries(value).filter(
    (entry): entry is [string, number] => number(entry[1]) !== null,
  )
  return Object.fromEntries(
    entries.slice(0, METRICS_MAX).map(([name, value]) => [name.slice(0, TEXT_MAX), value]),
  )
}
