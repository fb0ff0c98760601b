import { GleanerError } from '../errors.ts'
import { identifySelf } from '../process-identity.ts'
import type { Store } from '../store/contract.ts'
import type { SupervisorRow } from '../store/supervision.ts'
import { isInOffice } from '../worker/supervisors.ts'
import type { SlotState } from './state.ts'

export interface Office {
  name: string
  term: number
  /** What the one before knew of his workers. */
  before: ReadonlyMap<string, SlotState>
}

const ATTEMPTS_MAX = 10

/** One supervisor per database and name: the office is free, its holder has left, or he is known to be dead. */
export async function takeOffice(store: Store, name: string): Promise<Office> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const holder = (await store.supervisors()).find((row) => row.name === name)
    if (holder !== undefined && isInOffice(holder)) throw refusal(holder)
    const term = await store.takeOffice(name, identifySelf(), holder?.term ?? null)
    if (term !== null) return { name, term, before: statesOf(holder) }
  }
  throw new GleanerError(`the office of the supervisor ${name} changes hands too fast`, {
    code: 'SUPERVISOR_RUNS',
    hint: 'Start one at a time.',
  })
}

function refusal({ name, process, since }: SupervisorRow): GleanerError {
  const where = `process ${process.pid} on ${process.host}, since ${new Date(since).toISOString()}`
  return new GleanerError(`a supervisor ${name} runs already: ${where}`, {
    code: 'SUPERVISOR_RUNS',
    hint: 'Stop it first, or give this one another name.',
  })
}

function statesOf(holder: SupervisorRow | undefined): Map<string, SlotState> {
  if (holder === undefined) return new Map()
  const states = JSON.parse(holder.workers) as SlotState[]
  return new Map(states.map((state) => [state.id, state]))
}
