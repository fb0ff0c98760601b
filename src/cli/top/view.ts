import type { Terminal } from '../console/terminal.ts'
import { cut } from '../console/words.ts'
import type { Overview } from '../operations/contract.ts'
import { coloured, type Line, overviewLines, type Target } from '../text/overview.ts'

/** All that is on the screen. */
export interface View {
  /** Null: nothing was read yet. */
  overview: Overview | null
  /** Why it could not be read just now; what was read last stays. */
  trouble: string | null
  selected: Target
  /** What came of the last key. */
  message: string
  /** Waits for y or n. */
  question: string | null
}

export const EVERYTHING: Target = { kind: 'everything', name: '' }

const KEYS: Record<Target['kind'], string> = {
  everything: 'p pause everything  r resume everything',
  worker: 'p pause  r resume  t restart',
  queue: 'p pause  r resume  t retry failed tasks',
  discovery: 'p pause  r resume  t release quarantined rows',
}

/** Lines for a terminal of this size, the selected one among them. */
export function drawnView(
  view: View,
  { style, columns, rows }: Pick<Terminal, 'style' | 'columns' | 'rows'>,
): string[] {
  const lines = view.overview === null ? [{ text: 'reading …' }] : overviewLines(view.overview, columns - 1)
  const { selected } = view
  const at = Math.max(
    0,
    lines.findIndex(({ target }) => isSame(target, selected)),
  )
  const height = Math.max(1, rows - 2)
  const body = window(lines, at, height).map((line) =>
    isSame(line.target, selected)
      ? style('inverse', line.text.padEnd(Math.max(0, columns - 1)))
      : coloured(line, style),
  )
  return [
    ...body,
    ...Array<string>(Math.max(0, height - body.length)).fill(''),
    ...foot(view, style, columns),
  ]
}

function foot(view: View, style: Terminal['style'], columns: number): string[] {
  const { question, trouble, message, selected } = view
  const said =
    question !== null
      ? style('yellow', cut(`${question} y/n`, columns - 1))
      : trouble !== null
        ? style('red', cut(trouble, columns - 1))
        : cut(message, columns - 1)
  return [said, style('dim', cut(`↑↓ select  ${KEYS[selected.kind]}  q quit`, columns - 1))]
}

/** So many lines that the selected one is among them; from the beginning if there is room. */
function window(lines: readonly Line[], at: number, height: number): readonly Line[] {
  const from = Math.max(0, Math.min(at - height + 2, lines.length - height))
  return lines.slice(from, from + height)
}

/** Who is chosen next, up (-1) or down (1). What is gone meanwhile is everything. */
export function moved(overview: Overview | null, selected: Target, step: -1 | 1): Target {
  const targets = targetsOf(overview)
  const at = targets.findIndex((target) => isSame(target, selected))
  return targets[Math.min(targets.length - 1, Math.max(0, at + step))] ?? EVERYTHING
}

export function stillThere(overview: Overview, selected: Target): Target {
  return targetsOf(overview).find((target) => isSame(target, selected)) ?? EVERYTHING
}

function targetsOf(overview: Overview | null): Target[] {
  if (overview === null) return [EVERYTHING]
  return overviewLines(overview, Number.POSITIVE_INFINITY).flatMap(({ target }) => target ?? [])
}

function isSame(a: Target | undefined, b: Target): boolean {
  return a?.kind === b.kind && a.name === b.name
}
