import type { Death } from '../model/restart.ts'
import { EXIT } from '../process/exit-codes.ts'
import type { Legacy } from './aftermath.ts'
import type { Child, Exit } from './child.ts'

/** What kind of end this was, for the restart policy. */
export function deathOf(child: Child, exit: Exit, legacy: Legacy): Death {
  const { ending } = child
  const { code } = exit
  if (ending !== null && ending.kind !== 'hung' && ending.kind !== 'start-up') return 'asked'
  if (code === EXIT.configuration) return 'configuration'
  if (code === EXIT.database) return 'database'
  if (legacy.workerBroken) return 'broken'
  if (leftCleanly(child, exit) && !legacy.inFlight) return 'left'
  if (code === EXIT.resource || code === EXIT.resourceErrors) return 'unexplained'
  return legacy.inFlight ? 'explained' : 'unexplained'
}

/** It was at work and ended with success, as a worker does that somebody sends SIGTERM. A handler can do that, too: then it held something. */
export function leftCleanly({ ending, ready }: Child, { code }: Exit): boolean {
  return ending === null && ready && code === EXIT.clean
}

/** In a row with these it has to be shown whether the worker can do anything but crash. */
const ROW_MAX = 4

/** The items that a worker's lives ended on, in a row: whoever has finished anything begins anew. */
export function crashedOn(
  { frame }: Child,
  { blamed }: Legacy,
  before: readonly string[],
): readonly string[] {
  if (blamed === null) return before
  return (frame?.processed ?? 0) > 0 ? [blamed] : [...before, blamed].slice(-ROW_MAX)
}

const MEANINGS: Record<number, string> = {
  [EXIT.clean]: 'it exited with code 0: it received a signal to stop, or ended by itself',
  [EXIT.configuration]: 'its config or code has an error',
  [EXIT.database]: 'it could not reach the database',
  [EXIT.resource]: 'a resource did not load',
  [EXIT.resourceErrors]: 'too many resource errors in a row',
}

const ENDINGS = {
  stop: 'stopped',
  replaced: 'replaced',
  hung: 'killed: it no longer reported its health',
  'start-up': 'killed: it did not become ready in time',
  'given-up': 'stopped: it was given up',
  overdue: 'killed: a handler ran past its time-out and blocked the event loop',
} as const

/** For people. `held`: what the process held, once that is known. */
export function reasonOf(
  { ending, frame, ready }: Pick<Child, 'ending' | 'frame' | 'ready'>,
  exit: Exit,
  held: Legacy | null = null,
): string {
  if (exit.error !== null) return `it could not be started: ${exit.error.message}${adviceFor(exit.error)}`
  if (ending !== null) return ENDINGS[ending.kind]
  const how =
    exit.signal === null
      ? (MEANINGS[exit.code ?? -1] ?? `it exited with code ${exit.code}`)
      : `killed by ${exit.signal}`
  // A worker that loads a resource for an item has the item already, and is not ready yet.
  // One that dies with its first item may have had no time to report that it was ready.
  const job = frame?.currentJob ?? held?.blamed
  if (job !== null && job !== undefined) return `${how}, while running ${job}`
  return ready || held?.inFlight === true ? how : `${how}, before it reported that it was ready`
}

const ADVICE: Record<string, string> = {
  EMFILE: 'too many files are open in this process; raise its limit (ulimit -n)',
  ENFILE: 'too many files are open on this machine; raise fs.file-max',
  EAGAIN: 'too many processes; raise the limit (ulimit -u, or pids.max of the container)',
  ENOMEM: 'no memory is left on this machine',
}

function adviceFor({ code }: NodeJS.ErrnoException): string {
  const advice = ADVICE[code ?? '']
  return advice === undefined ? '' : ` (${advice})`
}
