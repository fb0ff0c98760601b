import type { Terminal } from './terminal.ts'

const REDRAW_MS = 100
const WIDTH = 30
const CLEAR = '\r\x1b[K'

/** What is known of long work: how much is done, and of how much, if anybody knows. */
export interface Stage {
  label: string
  /** From 0 to 1; null: nobody knows. */
  fraction: number | null
  detail?: string
}

/**
 * Shows on stderr how far something is, on a terminal only, for as long as `work` takes; what is printed afterwards stands where it
 * stood. Where nobody tells, it still shows that time passes.
 */
export async function withProgress<T>(
  terminal: Terminal,
  label: string,
  work: (tell: (stage: Partial<Stage>) => void) => Promise<T>,
): Promise<T> {
  if (!terminal.canDraw) return work(() => {})
  let stage: Stage = { label, fraction: null }
  const begin = performance.now()
  const draw = () => terminal.writeAside(CLEAR + terminal.shown(drawn(stage, performance.now() - begin)))
  const redraw = setInterval(draw, REDRAW_MS)
  try {
    return await work((news) => {
      stage = { ...stage, ...news }
    })
  } finally {
    clearInterval(redraw)
    terminal.writeAside(CLEAR)
  }
}

export function drawn({ label, fraction, detail }: Stage, elapsedMs: number): string {
  const more = detail === undefined ? '' : `  ${detail}`
  if (fraction === null) return `${label} … ${Math.floor(elapsedMs / 1_000)} s${more}`
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * WIDTH)
  const percent = String(Math.floor(Math.min(1, Math.max(0, fraction)) * 100)).padStart(3)
  return `${label} [${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}] ${percent} %${more}`
}
