import type { IndexAdvice } from './index-advice.ts'
import type { Shape } from './shape.ts'
import type { RowSource } from './source.ts'

/** What is known of a declaration once it was compared with its table. */
export interface ValidatedSource extends IndexAdvice {
  source: RowSource
  shape: Shape
  /** The table says when it is written. */
  tells: boolean
}
