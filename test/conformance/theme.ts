import type { Expect } from './runner.ts'
import type { World } from './world.ts'

/** States one promise of the contract, with a scenario on a fresh database that shows it. */
export type Specify = (title: string, scenario: (world: World) => Promise<void>) => void

/** The promises about one subject. */
export type Theme = (specify: Specify, expect: Expect) => void
