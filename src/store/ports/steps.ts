import type { KeptStep, StepKind } from '../../model/step.ts'
import type { KeptSignal, WaitRecord } from '../../model/wait.ts'
import type { ClaimProof, Effects } from './exchange.ts'
import type { NewSignal, SignalAnswer } from './signals.ts'

/**
 * The part of the contract for steps: named parts of a run whose results are kept, so that a later attempt continues behind them.
 * An item is a task (its id) or a row (`<discovery>/<key>`). Steps of a row belong to the version that was claimed.
 */
export interface StepStore {
  /** What earlier attempts kept for this item, and the store's time. Null: the claim is lost. Steps of another version of a row are removed. */
  openSteps(session: string, claim: ClaimProof): Promise<OpenedSteps | null>
  /** Keeps each step in place of what was kept under its name and number. Answers the items whose claim is lost: nothing was written for them. */
  keepSteps(session: string, steps: readonly NewStep[], durability: StepDurability): Promise<string[]>
  /** Commits the effects together with the step. `value` is asked for the step's value after the effects ran. False: the claim is lost, nothing was written. */
  keepStepWith(session: string, step: NewStep, atomic: AtomicStep): Promise<boolean>
  /**
   * A step waits for a signal. Null: the claim is lost. `waits`: nothing has come; the run is to end with the outcome `waits`, and `leftMs` says how
   * long the wait lasts at most.
   */
  awaitSignal(session: string, wait: NewWait): Promise<AwaitedSignal | null>
  /** A stored message to one item, taken once by the step that waits for it. */
  sendSignal(signal: NewSignal): Promise<SignalAnswer>
  /** What a suspended item waits for. */
  waitsOf(item: string): Promise<WaitRecord[]>
  /** Signals that no step has taken yet, the oldest first. */
  signalsOf(item: string): Promise<KeptSignal[]>
  /** All that is kept for an item, in the order in which it was kept first. */
  stepsOf(item: string): Promise<KeptStep[]>
}

/** Cursors may be lost in a power cut: the loop repeats what followed the last one that was kept. */
export type StepDurability = 'promised' | 'cheap'

export interface OpenedSteps {
  steps: KeptStep[]
  /** The store's time; 0 if there is no sleep among them. */
  now: number
}

export interface NewStep {
  claim: ClaimProof
  name: string
  /** From 1: a name that is used again is numbered. */
  number: number
  kind: StepKind
  /** JSON. Null for none. */
  value: string | null
  attempt: number
  startedAt: number
  /** For a sleep: for how long, from now on. */
  forMs?: number
}

/** A step that waits, without a time-out or for so long from the first time on. */
export type NewWait = Pick<NewStep, 'claim' | 'name' | 'number' | 'attempt' | 'startedAt'> & {
  timeoutMs: number | null
}

export type AwaitedSignal =
  /** `value`: its payload as JSON, or null. */
  | { kind: 'signal'; value: string | null }
  | { kind: 'timeout' }
  | { kind: 'waits'; until: number | null; leftMs: number | null }

export interface AtomicStep {
  effects: Effects
  value: () => string | null
}
