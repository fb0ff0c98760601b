/** One condition, and whether it holds. */
export interface Reason {
  /** Which condition. */
  check: Check
  /** Whether it holds. */
  ok: boolean
  /** What was found, as a sentence. */
  detail: string
  /** What to do. Null: nothing is to be done, or nothing can be. */
  fix: string | null
}

/** A condition that must hold before an item can run. */
export type Check =
  | 'unfinished'
  | 'not-quarantined'
  | 'key-free'
  | 'not-held'
  | 'not-suspended'
  | 'due'
  | 'not-backing-off'
  | 'not-paused'
  | 'queue-not-paused'
  | 'within-limits'
  | 'worker-serves-queue'
  | 'worker-knows-task'
  | 'worker-has-capabilities'
  | 'order'
  | 'in-order'
  | 'worker-not-paused'
  | 'resources-available'
  | 'runs-alone'
  | 'declaration-fits-table'
  | 'row-exists'
  | 'needs-work'
  | 'discovery-not-paused'
  | 'worker-serves-discovery'
  | 'found-by-index'

/** So many are named; the rest is counted. */
export const SHOWN_MAX = 5

export function passed(check: Check, detail: string): Reason {
  return { check, ok: true, detail, fix: null }
}

export function failed(check: Check, detail: string, fix: string | null): Reason {
  return { check, ok: false, detail, fix }
}

export function quotedText(text: string): string {
  return JSON.stringify(text)
}

/** A key as a word of a command that a person copies: one that a shell could take for more than a word is left for the person to type. */
export function commandWord(key: string): string {
  return /^[\w.:@+-]+$/.test(key) && !key.startsWith('-') ? key : '<key>'
}

export function time(ms: number | null): string {
  return ms === null ? 'an unknown time' : new Date(ms).toISOString()
}

export function times(n: number): string {
  return n === 1 ? 'once' : `${n} times`
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, ms)} ms`
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`
  return `${Math.round(ms / 3_600_000)} h`
}
