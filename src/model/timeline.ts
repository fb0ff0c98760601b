import type { Health, LastExit, Phase, WorkerRecord, WorkerStatus } from './worker.ts'

/** A period in which the state of a worker did not change. */
export interface Stretch {
  /** When it began, in milliseconds since 1970. */
  from: number
  /** What the process did. */
  status: WorkerStatus
  /** The same for a health monitor. */
  health: Health
  /** What the worker reported. */
  phase: Phase | null
  /** The process. */
  pid: number | null
}

/** A period before this process began to watch. Only the health was recorded. */
export interface Recorded {
  /** Milliseconds since 1970. */
  from: number
  /** Milliseconds since 1970. */
  to: number
  /** The health in this time. */
  health: Health
}

/** The states of a worker, and the exits of its processes, the newest last. Each state lasts until the next one begins. */
export interface Lane {
  /** The id of the worker. */
  worker: string
  /** Earlier times, from the health history. */
  recorded: Recorded[]
  /** What its processes did since the supervisor started. */
  stretches: Stretch[]
  /** How its processes ended. */
  exits: (LastExit & { pid: number | null; items: string[] })[]
}

const STRETCHES_MAX = 300
const EXITS_MAX = 50
const ITEMS_MAX = 5

/** What workers did, for charts. It is in memory and has a limited size. */
export class Timeline {
  readonly #lanes = new Map<string, Lane>()
  readonly #last = new Map<string, WorkerRecord>()

  get lanes(): Lane[] {
    return [...this.#lanes.values()]
  }

  /** Records the state of a worker. Only changes are kept. */
  saw(record: WorkerRecord, now: number): void {
    const lane = this.#lanes.get(record.id) ?? { worker: record.id, recorded: [], stretches: [], exits: [] }
    this.#lanes.set(record.id, lane)
    const before = this.#last.get(record.id)
    this.#last.set(record.id, record)
    addExit(lane, record, before)
    const { status, health, phase, pid } = record
    const last = lane.stretches.at(-1)
    if (last?.status === status && last.health === health && last.phase === phase && last.pid === pid) return
    // What began in the same moment was never to be seen.
    if (last?.from === now) lane.stretches.pop()
    lane.stretches.push({ from: now, status, health, phase, pid })
    if (lane.stretches.length > STRETCHES_MAX) coarsen(lane.stretches)
  }
}

/** Of the older half, the two neighbours that lasted the shortest become one: the longer ago, the fewer details. */
function coarsen(stretches: Stretch[]): void {
  const lastedMs = (index: number) => stretches[index + 1]!.from - stretches[index]!.from
  let at = 0
  for (let index = 1; index < stretches.length / 2; index++)
    if (lastedMs(index) + lastedMs(index + 1) < lastedMs(at) + lastedMs(at + 1)) at = index
  const longer = lastedMs(at) >= lastedMs(at + 1) ? stretches[at]! : stretches[at + 1]!
  stretches.splice(at, 2, { ...longer, from: stretches[at]!.from })
}

/** An end is told of more than once, and in the end with what followed from it. */
function addExit({ exits }: Lane, { lastExit }: WorkerRecord, before: WorkerRecord | undefined): void {
  if (lastExit === null) return
  const known = exits.findIndex(({ at }) => at === lastExit.at)
  if (known >= 0) {
    exits[known] = { ...exits[known]!, ...lastExit }
    return
  }
  const items = (before?.current ?? []).slice(0, ITEMS_MAX).map(({ item }) => item)
  exits.push({ ...lastExit, pid: before?.pid ?? null, items })
  if (exits.length > EXITS_MAX) exits.shift()
}
