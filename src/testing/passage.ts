import { closedError } from '../errors.ts'
import type { Calls } from '../worker/resources/calls.ts'
import type { Worker } from '../worker/worker.ts'
import type { Bell } from './bell.ts'
import { RunLimitError, RunStuckError } from './errors.ts'
import type { Gate } from './gate.ts'
import type { ManualClock } from './manual-clock.ts'
import type { Runs } from './runs.ts'

/** One look alone would come too early after the whole process had been stopped for a while. */
const PATIENT_LOOKS = 10

export interface PassageOptions {
  clock: ManualClock
  gate: Gate
  runs: Runs
  /** Of the code of resources. */
  calls: Calls
  bell: Bell
  workers: ReadonlySet<Worker>
  runLimit: number
  /** Real time. */
  patienceMs: number
}

/** Lets time pass: from one timer to the next, and never past one before everything it set off is done. */
export class Passage {
  readonly #options: PassageOptions
  #turn: Promise<unknown> = Promise.resolve()
  #isOver = false

  constructor(options: PassageOptions) {
    this.#options = options
  }

  /** Calls that come meanwhile wait for their turn. */
  advance(ms: number): Promise<void> {
    const turn = this.#turn.then(() => this.#advance(ms))
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Beyond the limit what runs may end, but nothing is begun any more. */
  started(task: string): void {
    const { gate, runs, runLimit } = this.#options
    runs.count(task)
    if (runs.started > runLimit) gate.shut()
  }

  end(): void {
    this.#isOver = true
    this.#options.gate.shut()
    this.#options.bell.ring()
  }

  async #advance(ms: number): Promise<void> {
    const { clock, gate, runs } = this.#options
    if (this.#isOver) throw closedError()
    const untilMs = clock.monotonicMs() + ms
    runs.countAnew()
    gate.open()
    try {
      await this.#settled()
      for (let before = clock.monotonicMs(); clock.step(untilMs); before = clock.monotonicMs()) {
        if (clock.monotonicMs() > before) runs.countAnew()
        await this.#settled()
      }
      clock.moveTo(untilMs)
    } finally {
      gate.shut()
    }
  }

  /** When nothing is left to be done at this moment of the engine's time. */
  async #settled(): Promise<void> {
    const { runs, runLimit } = this.#options
    do {
      while (!this.#isQuiet()) await this.#change()
      // Whoever waited for this time, or for a result, goes on by now, and may enqueue something.
      await new Promise(setImmediate)
    } while (!this.#isQuiet())
    if (this.#isOver) throw closedError()
    if (runs.started > runLimit) throw new RunLimitError(...runs.mostStarted, runLimit)
  }

  #isQuiet(): boolean {
    const { gate, runs, calls, workers } = this.#options
    if (this.#isOver) return true
    let running = calls.underWay
    for (const worker of workers) {
      if (!worker.isResting) return false
      running += worker.running
    }
    return gate.isQuiet && running === runs.sleeping
  }

  /** Handlers wait for whatever they like, in real time, but not for ever. */
  async #change(): Promise<void> {
    const { bell, runs, patienceMs } = this.#options
    let watchdog: NodeJS.Timeout | undefined
    const stuck = new Promise<never>((_, reject) => {
      let looks = 0
      watchdog = setInterval(() => {
        looks += 1
        if (looks < PATIENT_LOOKS || runs.awake.length === 0) return
        reject(new RunStuckError(runs.awake, `no handler has returned within ${patienceMs} ms of real time`))
      }, patienceMs / PATIENT_LOOKS)
    })
    try {
      await Promise.race([bell.next(), stuck])
    } finally {
      clearInterval(watchdog)
    }
  }
}
