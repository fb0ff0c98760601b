import type { Advice } from './advice.ts'
import type { Shape } from './shape.ts'
import type { RowSource } from './source.ts'

/** What is known of a declaration once it was compared with its table. */
export interface LookedOver extends Advice {
  source: RowSource
  shape: Shape
  /** The table says when it is written. */
  tells: boolean
}
