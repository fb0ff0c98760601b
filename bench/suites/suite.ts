import type { ContenderName } from '../contenders/contender.ts'
import type { Scenario } from '../scenarios/scenario.ts'
import type { Workplace, WorkplaceOptions } from '../workplaces/workplace.ts'

/** A kind of database: who is compared on it, where, and in which scenarios. */
export interface Suite {
  readonly name: string
  /** Those that can run on this machine. */
  readonly contenders: readonly ContenderName[]
  /** In the order of the report. */
  readonly scenarios: readonly Scenario[]
  openWorkplace(options: WorkplaceOptions): Promise<Workplace>
  /** For the report: how the contenders are set up. */
  readonly notes: string
}
