import type { ContenderName, Spread } from '../contenders/contender.ts'
import type { Stage } from '../processes.ts'
import type { SeedState } from '../roles/seed.ts'
import type { LimitsName } from './limits.ts'
import type { StrategyName } from './strategies.ts'

/** One line of the table: who is measured, how, and what has to come out. */
export interface Scenario {
  readonly id: string
  readonly title: string
  /** For the reader of the report: what is done and what the figure means. */
  readonly meaning: string
  readonly metrics: readonly Metric[]
  entries(bench: Bench): Entry[]
  readonly targets: readonly Target[]
}

export interface Metric {
  readonly key: string
  readonly label: string
  readonly unit: Unit
}
export type Unit = 'per second' | 'µs' | 'ms' | 'MB' | '% of a core' | 'share' | 'count'

export const PER_SECOND: Metric = { key: 'perSecond', label: 'tasks', unit: 'per second' }

/** One contender in one configuration, measured once per round in turn with the others. */
export interface Entry {
  readonly label: string
  readonly contender: ContenderName
  readonly note?: string
  /** Peers that are only there for comparison need not be repeated as often. */
  readonly roundsMax?: number
  measure(): Promise<Sample>
}
/** Metric key → value. What a contender has no equivalent for is left out. */
export type Sample = Readonly<Record<string, number>>

export interface Target {
  /** `reach` decides the exit code, `stretch` is only reported. */
  readonly level: 'reach' | 'stretch'
  readonly text: string
  readonly entry: string
  readonly metric: string
  /**
   * The figure is divided, round by round, by this entry's, or by the greatest of several. Without it, the figure
   * itself is compared.
   */
  readonly relativeTo?: string | readonly string[]
  readonly atLeast?: number
  readonly atMost?: number
  /** `median` of the rounds unless every single round has to hold. */
  readonly over?: 'median' | 'every round'
}

/** What the server of a place has used of the processor so far, in milliseconds. */
export type ServerClock = () => number

/** What the run lends to a scenario. */
export interface Bench extends Stage {
  readonly quick: boolean
  /** The real size, or the one that only shows that it runs. */
  size(real: number, quick: number): number
  /** An empty place of its own (a file, a database) for one measurement, gone afterwards. */
  withFresh<T>(
    contender: ContenderName,
    measure: (place: string, serverMs: ServerClock) => Promise<T>,
  ): Promise<T>
  /** The same with a copy of a place that was filled once for the whole run. */
  withStock<T>(stock: Stock, measure: (place: string, serverMs: ServerClock) => Promise<T>): Promise<T>
}

export interface Stock {
  readonly contender: ContenderName
  /** Only Gleaner has them. */
  readonly strategy?: StrategyName
  readonly limits?: LimitsName
  readonly spread?: Spread
  readonly stock: readonly { readonly state: SeedState; readonly count: number }[]
}
