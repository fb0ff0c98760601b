import type { Lane } from '../../lane.ts'

/** So many lanes and lines can all be read by each claim. */
const FEW = 64

/** The lanes of one queue that a worker may claim from. */
export interface OpenQueue {
  readonly queue: string
  /** Lanes that are read one by one. */
  readonly own: number[]
  /** Lanes that share `line`, perhaps with lanes that this worker may not claim from. */
  readonly shared: number[]
  line: number | null
}

/** What a worker may claim from now. */
export class OpenLanes {
  readonly lanes: readonly Lane[]
  readonly #sizeOfLine: ReadonlyMap<number, number>
  readonly #queueOfLine = new Map<number, string>()
  readonly #byId: ReadonlyMap<number, Lane>
  readonly queues = new Map<string, OpenQueue>()
  /** The worker may claim everything that stands in its lines. */
  readonly areWhole: boolean
  /** Each claim reads all of them. */
  readonly areFew: boolean
  readonly ownIds: number[] = []
  readonly lines: number[] = []

  constructor(lanes: readonly Lane[], sizeOfLine: ReadonlyMap<number, number>) {
    this.lanes = lanes
    this.#sizeOfLine = new Map(sizeOfLine)
    this.#byId = new Map(lanes.map((lane) => [lane.id, lane]))
    for (const { id, queue, line } of lanes) {
      const one = this.queues.get(queue) ?? { queue, own: [], shared: [], line: null }
      this.queues.set(queue, one)
      if (line === null) {
        one.own.push(id)
        this.ownIds.push(id)
        continue
      }
      if (one.line === null) this.lines.push(line)
      this.#queueOfLine.set(line, queue)
      one.line = line
      one.shared.push(id)
    }
    const queues = [...this.queues.values()]
    this.areWhole = queues.every((one) => one.line === null || this.isWhole(one))
    this.areFew = this.areWhole && this.ownIds.length + this.lines.length <= FEW
  }

  isWhole({ line, shared }: OpenQueue): boolean {
    return line !== null && shared.length === this.#sizeOfLine.get(line)
  }

  /** All but those of these queues. */
  without(queues: ReadonlySet<string>): OpenLanes {
    if (queues.size === 0) return this
    return new OpenLanes(
      this.lanes.filter(({ queue }) => !queues.has(queue)),
      this.#sizeOfLine,
    )
  }

  /** Of a lane, or, below 0, of a line. */
  queueOf(id: number): string {
    return id < 0 ? this.#queueOfLine.get(-id)! : this.#byId.get(id)!.queue
  }

  lane(id: number): Lane | undefined {
    return this.#byId.get(id)
  }
}

export const NO_LANES = new OpenLanes([], new Map())
