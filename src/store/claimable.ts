import { satisfies } from '../model/capabilities.ts'
import type { Lane } from './lane.ts'
import type { ClaimAbilities } from './ports/exchange.ts'

/** The lanes of one queue that a worker may take from. */
export interface QueueLanes {
  readonly queue: string
  /** All of them, in ascending order. */
  readonly ids: number[]
  /** Each is read by itself. */
  readonly own: Lane[]
  /** They share `line`, perhaps with lanes that this worker may not take from. */
  readonly shared: Lane[]
  line: number | null
}

/** What a worker may take from. Lanes are added, and never removed. */
export class ClaimableLanes {
  readonly #able: ClaimAbilities
  readonly #queueNames: ReadonlySet<string>
  readonly #names: ReadonlySet<string>
  readonly #sizeOfLine: (line: number) => number
  readonly #byId = new Map<number, Lane>()
  readonly #queueOfLine = new Map<number, string>()
  readonly #queues = new Map<string, QueueLanes>()
  /** All lanes, those without a line, and the lines: their ids in ascending order. */
  readonly ids: number[] = []
  readonly ownIds: number[] = []
  readonly lines: number[] = []

  constructor(able: ClaimAbilities, sizeOfLine: (line: number) => number) {
    this.#able = able
    this.#queueNames = new Set(able.queues)
    this.#names = new Set(able.names)
    this.#sizeOfLine = sizeOfLine
  }

  /** Lanes that are new, in the order of their ids. */
  add(lanes: readonly Lane[]): void {
    for (const lane of lanes) if (this.#mayTake(lane)) this.#add(lane)
  }

  #mayTake({ queue, name, requires }: Lane): boolean {
    return (
      this.#queueNames.has(queue) && this.#names.has(name) && satisfies(requires, this.#able.capabilities)
    )
  }

  #add(lane: Lane): void {
    const { id, queue, line } = lane
    this.#byId.set(id, lane)
    this.ids.push(id)
    const lanes = this.#queues.get(queue) ?? { queue, ids: [], own: [], shared: [], line: null }
    this.#queues.set(queue, lanes)
    lanes.ids.push(id)
    if (line === null) {
      lanes.own.push(lane)
      this.ownIds.push(id)
      return
    }
    lanes.shared.push(lane)
    if (lanes.line !== null) return
    lanes.line = line
    this.#queueOfLine.set(line, queue)
    this.lines.push(line)
    this.lines.sort((a, b) => a - b)
  }

  /** Those that have lanes. */
  get queues(): ReadonlyMap<string, QueueLanes> {
    return this.#queues
  }

  lane(id: number): Lane | undefined {
    return this.#byId.get(id)
  }

  queueOf(id: number): string {
    return this.#byId.get(id)!.queue
  }

  queueOfLine(line: number): string {
    return this.#queueOfLine.get(line)!
  }

  /** The worker may take everything that stands in this line. */
  isWhole({ line, shared }: QueueLanes): boolean {
    return line !== null && shared.length === this.#sizeOfLine(line)
  }
}
