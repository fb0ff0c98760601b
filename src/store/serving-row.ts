import type { Serving } from '../model/explanation.ts'
import type { UnavailableResource } from '../model/unavailable-resource.ts'

/** The columns that it is read from. */
export const SERVING =
  'worker, host, boot, pid, start_time, queues, names, capabilities, discoveries, holdups, strategies'

/** A live session's row, in either store, as far as it says what its worker serves. */
export interface ServingRow {
  worker: string
  host: string
  boot: string
  pid: number
  start_time: string | null
  queues: string
  names: string
  capabilities: string
  discoveries: string
  holdups: string | null
  strategies?: string | null
}

/** What a session's row says of what its worker waits for. */
export function unavailableIn(said: string | null): Pick<Serving, 'unavailable' | 'paused'> {
  const all = said === null ? [] : (JSON.parse(said) as UnavailableResource[])
  const pause = all.find(({ paused }) => paused === true)
  return { unavailable: all.filter((one) => one !== pause), paused: pause?.reason ?? null }
}

export function serving(row: ServingRow): Serving {
  const { worker, host, boot, pid, start_time: startTime } = row
  return {
    worker,
    process: { host, boot, pid, startTime },
    queues: JSON.parse(row.queues),
    names: JSON.parse(row.names),
    capabilities: JSON.parse(row.capabilities),
    discoveries: JSON.parse(row.discoveries),
    strategies: row.strategies ? JSON.parse(row.strategies) : {},
    ...unavailableIn(row.holdups),
  }
}
