import { shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import type { Retention } from '../model/retention.ts'
import type { Tracing } from '../observe/tracing.ts'
import type { TaskRegistry } from '../queue/registry.ts'
import type { Store } from '../store/ports/store.ts'
import type { Claims } from './claims.ts'

/** Shared by all copies of this package in a program: the HTTP API may have been loaded with another copy. */
export const INSIDE: unique symbol = Symbol.for('gleaner.inside')

/** What parts of Gleaner that stand below the engine may use of it, and users do not see. */
export interface Inside {
  store: Store
  registry: TaskRegistry
  durability: 'full' | 'normal'
  retention: Retention
  onProblem: (message: string, error: unknown) => void
  tracing?: Tracing
  claims: Claims
}

export function insideOf(gleaner: unknown): Inside {
  const inside = (gleaner as { [INSIDE]?: Inside } | null | undefined)?.[INSIDE]
  if (inside !== undefined) return inside
  throw new InputError(`${shown(gleaner)} is not a Gleaner`, {
    code: 'BAD_OPTION',
    hint: 'Pass the object that openGleaner returned.',
  })
}
