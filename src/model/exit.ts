import type { GleanerError } from '../errors.ts'
import type { EndCause } from './session.ts'

/** Exit codes of a worker process. They are part of the contract with programs that start one. */
export const EXIT = {
  clean: 0,
  configuration: 10,
  database: 11,
  resource: 12,
  resourceErrors: 13,
} as const

/** Of a worker that gave itself up. */
export function exitOfFailed({ code }: GleanerError): number {
  if (code.startsWith('STORE_')) return EXIT.database
  return code === 'RESOURCE_LOAD' ? EXIT.resource : EXIT.resourceErrors
}

/** Why its supervisor ends a process. */
export type ExitRequest =
  | { kind: 'stop' | 'replaced' | 'hung' | 'start-up' | 'given-up' }
  /** A handler ran past its time-out and blocks the event loop. */
  | { kind: 'overdue'; items: readonly OverdueItem[] }

export interface OverdueItem {
  item: string
  fence: number
  since: number
}

/** The exit of a worker process, and what was known about the process. */
export interface ProcessExit {
  code: number | null
  signal: NodeJS.Signals | null
  /** The process could not be started. */
  error: Error | null
  /** Null: its supervisor did not end it. */
  requested: ExitRequest | null
  /** It had reported that it was ready. */
  ready: boolean
  /** By its last frame. */
  currentJob: string | null
  /** Items that it held by its last frame. */
  held: number
  /** Items that it had finished by its last frame. */
  processed: number
}

/** What the process held, by the database, after it was given back. */
export interface Recovered {
  inFlight: boolean
  /** The item that was charged with the crash. */
  blamed: string | null
  workerBroken: boolean
}

export const NOTHING_RECOVERED: Recovered = { inFlight: false, blamed: null, workerBroken: false }

/** What an exit means for the restart of the worker. */
export type ExitCause =
  /** Its supervisor asked for it: recycling, a rolling restart, a handler past its time-out. */
  | 'asked'
  /** It ended cleanly and held nothing, but its supervisor had not asked for it: a signal did, or its own code. */
  | 'left'
  /** Something was in flight: the item is charged, or its attempts are. */
  | 'explained'
  /** It crashed on different items in a row: the worker itself is broken. */
  | 'broken'
  /** Nothing was in flight, it never became ready, or its resources did not load. */
  | 'unexplained'
  | 'database'
  | 'configuration'

/** `recovered`: as the database says, or, if it does not answer in time, as the last frame says. */
export function exitCauseOf(exit: ProcessExit, recovered: Recovered): ExitCause {
  const { requested, code } = exit
  if (requested !== null && sessionEndOf(requested) === 'stop') return 'asked'
  if (code === EXIT.configuration) return 'configuration'
  if (code === EXIT.database) return 'database'
  if (recovered.workerBroken) return 'broken'
  if (isCleanExit(exit) && !recovered.inFlight) return 'left'
  if (code === EXIT.resource || code === EXIT.resourceErrors) return 'unexplained'
  return recovered.inFlight ? 'explained' : 'unexplained'
}

/** The cause with which the sessions of the process end. A process that its supervisor had to kill because it reported nothing has crashed. */
export function sessionEndOf(requested: ExitRequest | null): EndCause {
  return requested === null || requested.kind === 'hung' || requested.kind === 'start-up' ? 'crash' : 'stop'
}

/** It was at work and ended with success, as a worker does after SIGTERM. A handler can also end the process: then it held something. */
export function isCleanExit({ requested, ready, code }: ProcessExit): boolean {
  return requested === null && ready && code === EXIT.clean
}

/** What the last frame says about the items that the process held. */
export function guessRecovered({ held }: ProcessExit): Recovered {
  return { ...NOTHING_RECOVERED, inFlight: held > 0 }
}

/** After so many in a row, it has to be shown whether the worker can do anything but crash. */
const ROW_MAX = 4

/** The items on which the processes of a worker ended, in a row. A process that finished an item begins a new row. */
export function crashedOn(
  { processed }: ProcessExit,
  { blamed }: Recovered,
  before: readonly string[],
): readonly string[] {
  if (blamed === null) return before
  return processed > 0 ? [blamed] : [...before, blamed].slice(-ROW_MAX)
}

const CODES: Record<number, string> = {
  [EXIT.clean]: 'it exited with code 0: it received a signal to stop, or ended by itself',
  [EXIT.configuration]: 'its config or code has an error',
  [EXIT.database]: 'it could not reach the database',
  [EXIT.resource]: 'a resource did not load',
  [EXIT.resourceErrors]: 'too many resource errors in a row',
}

const REQUESTS = {
  stop: 'stopped',
  replaced: 'replaced',
  hung: 'killed: it no longer reported its health',
  'start-up': 'killed: it did not become ready in time',
  'given-up': 'stopped: it was given up',
  overdue: 'killed: a handler ran past its time-out and blocked the event loop',
} as const

/** The exit in words. `recovered`: what the process held, when the database has told. */
export function exitReasonOf(exit: ProcessExit, recovered: Recovered | null = null): string {
  const { code, signal, error, requested, ready } = exit
  if (error !== null) return `it could not be started: ${error.message}${adviceFor(error)}`
  if (requested !== null) return REQUESTS[requested.kind]
  const how = signal === null ? (CODES[code ?? -1] ?? `it exited with code ${code}`) : `killed by ${signal}`
  // A worker that loads a resource for an item has the item already, and is not ready yet.
  // One that ends with its first item may have had no time to report that it was ready.
  const job = exit.currentJob ?? recovered?.blamed ?? null
  if (job !== null) return `${how}, while running ${job}`
  return ready || recovered?.inFlight === true ? how : `${how}, before it reported that it was ready`
}

const ADVICE: Record<string, string> = {
  EMFILE: 'too many files are open in this process; raise its limit (ulimit -n)',
  ENFILE: 'too many files are open on this machine; raise fs.file-max',
  EAGAIN: 'too many processes; raise the limit (ulimit -u, or pids.max of the container)',
  ENOMEM: 'no memory is left on this machine',
}

function adviceFor({ code }: Error & { code?: string }): string {
  const advice = ADVICE[code ?? '']
  return advice === undefined ? '' : ` (${advice})`
}
