import type { KeptStep, StepKind } from '../../model/step.ts'
import type { ClaimProof, Effects } from './exchange.ts'

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

export interface AtomicStep {
  effects: Effects
  value: () => string | null
}
