import type { Held } from '../../src/model/outcome.ts'

/** A task in a worker's hands, at its first attempt. */
export function heldTask(some: Partial<Held> = {}): Held {
  return {
    id: '1',
    attempts: 1,
    maxAttempts: 3,
    crashes: 0,
    suspect: false,
    started: true,
    cancelRequested: false,
    ...some,
  }
}
