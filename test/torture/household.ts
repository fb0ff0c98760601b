import { readdirSync, readFileSync } from 'node:fs'

/** Of a supervisor at one moment. */
export interface Sample {
  rss: number
  descriptors: number
  /** It and all that descend from it. */
  processes: number
}

/** The medians of the first and the last third, and the most. */
export interface Spread {
  early: number
  late: number
  most: number
}

/** A process and its descendants, seen from outside (Linux). */
export class Household {
  readonly #head: number
  /** All that ever descended from it, as far as anybody looked. */
  readonly everSeen = new Set<number>()

  constructor(head: number) {
    this.#head = head
    this.everSeen.add(head)
  }

  /** Its children that are alive. */
  workers(): number[] {
    return childrenOf(this.#head).filter((pid) => {
      this.everSeen.add(pid)
      return /^State:\s+[^Z]/m.test(statusOf(pid))
    })
  }

  sample(): Sample {
    const all = descendantsOf(this.#head)
    for (const pid of all) this.everSeen.add(pid)
    return {
      rss: Number(/VmRSS:\s+(\d+)/.exec(statusOf(this.#head))?.[1] ?? 0) * 1024,
      descriptors: readdirSync(`/proc/${this.#head}/fd`).length,
      processes: 1 + all.length,
    }
  }
}

export function flatness(numbers: readonly number[]): Spread {
  const third = Math.max(1, Math.floor(numbers.length / 3))
  return {
    early: median(numbers.slice(0, third)),
    late: median(numbers.slice(-third)),
    most: Math.max(...numbers),
  }
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
}

/** Any of its threads may have started them; whoever is gone by now has none. */
function childrenOf(pid: number): number[] {
  try {
    const lists = readdirSync(`/proc/${pid}/task`).map((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'),
    )
    return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
  } catch {
    return []
  }
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return 'State:\tZ'
  }
}
