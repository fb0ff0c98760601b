import type { Payload } from '../payload.ts'
import type { LimitsName } from '../scenarios/limits.ts'
import type { StrategyName } from '../scenarios/strategies.ts'

/** Each is a file beside this one. */
export type ContenderName =
  | 'gleaner'
  | 'gleaner-rows'
  | `sqlite/${'gleaner' | 'raw' | 'plainjob' | 'liteque' | 'sidequest'}`
  | `postgres/${'gleaner' | 'raw' | 'graphile-worker' | 'graphile-worker-batched' | 'pg-boss' | 'bullmq' | 'bullmq-redis'}`

/** What an acknowledged enqueue survives: a killed process (normal) or a power cut too (full). */
export type Durability = 'normal' | 'full'

export interface Contender {
  /** Its errors only go to its log, so nobody can say how many there were. */
  readonly hidesErrors?: true
  /** How often an idle worker looks for work by its documentation, when nothing wakes it up. */
  readonly pollMs?: number
  /** @param place the file, or the URL of the database */
  open(place: string, settings: Settings): Promise<Queue>
}

export interface Settings {
  durability: Durability
  /** For those that poll; drains ask for a short one. */
  pollMs: number
  /** Of the queue; only Gleaner has them. */
  strategy?: StrategyName
  limits?: LimitsName
  /** How many run at the same time in one worker; as its documentation advises for a drain, when it is not said. */
  concurrency?: number
  /** Items of one call of a batch handler; only Gleaner has them. */
  batch?: number
  /** Over what the tasks are spread evenly; only Gleaner has them. */
  spread?: Spread
  /** How long completed tasks are kept; as usual, when it is not said. */
  keepMs?: number
}

export interface Spread {
  readonly over: 'names' | 'queues' | 'limit keys'
  readonly count: number
}

/** What the scenarios ask of everybody. The contender writes its own loops, so that nobody pays for an adapter. */
export interface Queue {
  /** One after the other: each is acknowledged before the next is sent. */
  enqueueEach(payloads: readonly Payload[]): Promise<void>
  /** So many callers at the same time, each waiting for its own acknowledgement. */
  enqueueTogether(payloads: readonly Payload[], callers: number): Promise<void>
  /** All of them, the fastest documented way. */
  enqueueMany(payloads: readonly Payload[]): Promise<void>
  /** Starts a worker in this process whose handler only calls `onRun`. */
  work(hooks: WorkHooks): Work
  close(): Promise<void>

  /** Leaves these behind as completed tasks. */
  keepCompleted?(payloads: readonly Payload[]): Promise<void>
  /** Puts these in front of everything else, not due for an hour. */
  enqueueFutureInFront?(payloads: readonly Payload[]): Promise<void>
  /** Puts these in front of everything else, for workers that are not there. */
  enqueueIncompatibleInFront?(payloads: readonly Payload[]): Promise<void>
  /** Puts these in front of everything else, and fails them for good, or until in an hour. */
  quarantineInFront?(payloads: readonly Payload[]): Promise<void>
  backOffInFront?(payloads: readonly Payload[]): Promise<void>
  /** Puts these in front of everything else, in the hands of somebody who does not finish. */
  claimInFront?(payloads: readonly Payload[]): Promise<void>
  counts?(): Promise<unknown>
  firstPage?(): Promise<unknown>
}

export interface WorkHooks {
  onRun(payload: Payload, task?: TaskSide): void | Promise<void>
  /** An error that a user of the library would have had to deal with. */
  onError(error: unknown): void
}

/** What a handler may tell of itself, by those that store it. */
export interface TaskSide {
  log(line: string): Promise<unknown>
  progress(share: number): Promise<unknown>
}

export interface Work {
  /** Resolves once everything that was due is recorded as completed. */
  drained(): Promise<void>
  stop(): Promise<void>
}

/** When only the rate counts: some also wait that long whenever all their slots are taken. */
export const POLL_SHORT_MS = 1

/** As the report calls it: `sqlite/raw` is "raw" in the suite of SQLite. */
export function labelOf(contender: ContenderName): string {
  return contender.slice(contender.indexOf('/') + 1)
}

/** Only in the child process: nobody else's code is loaded beside the one being measured. */
export async function loadContender(name: ContenderName): Promise<Contender> {
  const module: { contender: Contender } = await import(`./${name}.ts`)
  return module.contender
}
