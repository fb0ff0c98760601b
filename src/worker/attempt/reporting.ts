import type { Clock } from '../../clock.ts'
import type { Meter } from '../../observe/meter.ts'
import type { Emitter } from './events.ts'
import type { Hooks } from './hooks.ts'

/** Tells listeners and hooks what became of an attempt, after the commit. */
export interface Reporting {
  emitter: Emitter
  hooks: Hooks
  clock: Pick<Clock, 'monotonicMs'>
  meter: Meter
}
