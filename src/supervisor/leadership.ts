import { hostname } from 'node:os'
import { type Clock, systemClock } from '../clock.ts'
import { GleanerError } from '../errors.ts'
import { identifySelf, isInSight } from '../process-identity.ts'
import type { Store } from '../store/ports/store.ts'
import type { SupervisorRow } from '../store/ports/supervision.ts'
import { isLeading } from '../worker/supervisors.ts'
import type { Logger } from './logger.ts'
import type { SlotState } from './state.ts'

export interface Leadership {
  name: string
  term: number
  /** What the leader before knew of its workers. */
  before: ReadonlyMap<string, SlotState>
}

const ATTEMPTS_MAX = 10
const NAMES_MAX = 1_000
const LOOK_MS = 250

/** One supervisor leads for each database and name: there was none, it has left, or it is proved dead. */
export async function takeLeadership(
  store: Pick<Store, 'sessions' | 'remote'>,
  name: string,
): Promise<Leadership> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const holder = await holderOf(store, name)
    if (holder !== undefined && isLeading(holder, store)) throw refusal(holder)
    const term = await store.sessions.takeLeadership(name, identifySelf(), holder?.term ?? null)
    if (term !== null) return { name, term, before: statesOf(holder) }
  }
  throw new GleanerError(`several supervisors named ${name} are starting at once`, {
    code: 'SUPERVISOR_RUNS',
    hint: 'Start one after the other.',
  })
}

/**
 * Under the name of this host. If a supervisor on another machine or in another container of the same name runs under it, this
 * one gets the next number: two of them must not end each other.
 */
export async function takeDefaultLeadership(
  store: Pick<Store, 'sessions' | 'remote'>,
  logger: Logger,
  { host = hostname(), clock = systemClock }: { host?: string; clock?: Clock } = {},
): Promise<Leadership> {
  for (let number = 1; number <= NAMES_MAX; number++) {
    const name = number === 1 ? host : `${host}-${number}`
    if (await isHeldElsewhere(store, name, logger, clock)) continue
    try {
      return await takeLeadership(store, name)
    } catch (error) {
      const holder = await holderOf(store, name)
      const elsewhere = holder !== undefined && !isInSight(holder.process)
      // If another machine was faster, its supervisor has the name.
      if (!elsewhere || (error as GleanerError).code !== 'SUPERVISOR_RUNS') throw error
    }
  }
  throw new GleanerError(`all names of supervisors from ${host} to ${host}-${NAMES_MAX} are in use`, {
    code: 'SUPERVISOR_RUNS',
    hint: 'Give this supervisor another name: `supervisor.name` in the config.',
  })
}

/**
 * Whether a supervisor that this process cannot see lives: its next report proves it. The one before us in this container, if it was
 * killed, reports nothing, and its name becomes free.
 */
async function isHeldElsewhere(
  store: Pick<Store, 'sessions' | 'remote'>,
  name: string,
  logger: Logger,
  clock: Clock,
): Promise<boolean> {
  let unseenMs = Number.POSITIVE_INFINITY
  for (let waits = false; ; waits = true) {
    const holder = await holderOf(store, name)
    if (holder === undefined || isInSight(holder.process) || !isLeading(holder, store)) return false
    if (waits && holder.unseenMs < unseenMs) return true
    if (!waits)
      logger.info({ name, since: holder.since }, 'checking whether a supervisor with this name is alive')
    unseenMs = holder.unseenMs
    await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve))
  }
}

async function holderOf(store: Pick<Store, 'sessions'>, name: string): Promise<SupervisorRow | undefined> {
  return (await store.sessions.supervisors()).find((row) => row.name === name)
}

function refusal({ name, process, since }: SupervisorRow): GleanerError {
  const where = `process ${process.pid} on ${process.host}, since ${new Date(since).toISOString()}`
  return new GleanerError(`a supervisor ${name} runs already: ${where}`, {
    code: 'SUPERVISOR_RUNS',
    hint: 'Stop it first, or give this supervisor another name: `supervisor.name` in the config.',
  })
}

function statesOf(holder: SupervisorRow | undefined): Map<string, SlotState> {
  if (holder === undefined) return new Map()
  const states = JSON.parse(holder.workers) as SlotState[]
  return new Map(states.map((state) => [state.id, state]))
}
