/** What is kept of a step: its result, the cursor of a loop that is not over, or how far a sleep or a wait is. */
export type StepKind = 'result' | 'cursor' | 'sleep' | 'wait' | 'signal' | 'timeout' | 'children'

/** A step as it is stored. Times are in milliseconds since 1970. */
export interface KeptStep {
  /** Its name in the code. */
  name: string
  /** From 1: a name that is used again is numbered. */
  number: number
  /** `result`: it is done. `cursor`: a loop that is not over. `sleep`: a wait until a time. `wait`, `signal`, `timeout`: a wait for a signal that has not come, has come, or did not come in time. `children`: a wait for tasks. */
  kind: StepKind
  /** The result, the cursor that was saved last, or the payload of the signal, as JSON. */
  value: string | null
  /** The attempt that kept it. */
  attempt: number
  /** When its function was called. */
  startedAt: number
  /** When it was kept. */
  keptAt: number
  /** When a sleep is over, or a wait times out. */
  until: number | null
}

/** A step as every reader sees it: library, command line and HTTP alike. */
export interface StepRecord extends Omit<KeptStep, 'value' | 'kind'> {
  /** As it is stored. `sent`: a signal that no step has taken yet, with the number 0. */
  kind: StepKind | 'sent'
  /** The result, the cursor that was saved last, or the payload of the signal. */
  value: unknown
}

/** For how much longer a sleep or a wait with a time-out lasts; 0 when it is over. */
export function sleepLeftMs({ until }: Pick<KeptStep, 'until'>, now: number): number {
  return Math.max(0, (until ?? now) - now)
}

/** The names that an attempt did not come to, although an earlier one kept a step under them: the code has changed. */
export function unvisited(kept: readonly KeptStep[], visited: ReadonlySet<string>): string[] {
  return [...new Set(kept.map(({ name }) => name))].filter((name) => !visited.has(name))
}
