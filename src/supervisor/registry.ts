import type { Clock } from '../clock.ts'
import type { Store } from '../store/ports/store.ts'
import type { SupervisorCommand } from '../store/ports/supervision.ts'
import type { Leadership } from './leadership.ts'
import type { Logger } from './logger.ts'
import type { SlotState } from './state.ts'
import type { Timings } from './timings.ts'

export interface SupervisorRegistryServices {
  store: Pick<Store, 'sessions'>
  clock: Clock
  logger: Logger
  timings: Timings
  states: () => SlotState[]
  obey: (command: SupervisorCommand) => void
  /** Another supervisor leads. */
  onLost: () => void
}

/** Changes that come together are written together. */
const TOGETHER_MS = 50

/** What others see of the workers, and what they ask for. Never a reason for a decision here, nor to wait. */
export class SupervisorRegistry {
  readonly #leadership: Leadership
  readonly #services: SupervisorRegistryServices
  #shown = ''
  #handled: string | null = null
  #seen = 0n
  #cancelWrite: (() => void) | null = null
  #cancelRead: () => void = () => {}
  #writing: Promise<void> = Promise.resolve()
  #closed = false

  constructor(leadership: Leadership, services: SupervisorRegistryServices) {
    this.#leadership = leadership
    this.#services = services
  }

  start(): void {
    this.#writeAfter(0)
    void this.#look()
  }

  /** Somebody's state may have changed: what others see of it is written soon, should it differ. */
  changed(): void {
    const shown = JSON.stringify(
      this.#services
        .states()
        .map(({ record, paused, failed, restart }) => [
          record.status,
          record.health,
          record.phase,
          record.reason,
          record.pid,
          paused,
          failed,
          restart,
        ]),
    )
    if (shown === this.#shown) return
    this.#shown = shown
    this.#writeAfter(TOGETHER_MS)
  }

  /** The last word. A database that does not take it within this time does without. */
  async close(withinMs: number): Promise<void> {
    this.#closed = true
    this.#cancelWrite?.()
    this.#cancelRead()
    let cancel = () => {}
    const over = new Promise<void>((resolve) => {
      cancel = this.#services.clock.after(withinMs, resolve)
    })
    await Promise.race([this.#writing.then(() => this.#report(true)).catch(() => {}), over])
    cancel()
  }

  #writeAfter(ms: number): void {
    if (this.#closed) return
    this.#cancelWrite?.()
    this.#cancelWrite = this.#services.clock.after(ms, () => {
      this.#writing = this.#writing.then(() => this.#write())
    })
  }

  async #write(): Promise<void> {
    const { timings, logger, onLost } = this.#services
    try {
      if (!(await this.#report(false)) && !this.#closed) onLost()
    } catch (error) {
      logger.warn({ err: error }, 'the supervisor could not write its state; the next attempt follows')
    }
    this.#writeAfter(timings.registryMs)
  }

  #report(leaving: boolean): Promise<boolean> {
    const { name, term } = this.#leadership
    const workers = JSON.stringify(this.#services.states())
    return this.#services.store.sessions.report({ name, term, workers, handled: this.#handled, leaving })
  }

  async #look(): Promise<void> {
    const { store, clock, timings, logger } = this.#services
    try {
      for (const command of await store.sessions.commandsFor(this.#leadership.name)) this.#obey(command)
    } catch (error) {
      logger.warn({ err: error }, 'the supervisor could not read its commands; the next attempt follows')
    }
    if (!this.#closed) this.#cancelRead = clock.after(timings.commandsMs, () => void this.#look())
  }

  /** Once: it stays in the database until the next report has told that it was carried out. */
  #obey(command: SupervisorCommand): void {
    if (BigInt(command.id) <= this.#seen || this.#closed) return
    this.#seen = BigInt(command.id)
    this.#services.obey(command)
    this.#handled = command.id
    this.#writeAfter(0)
  }
}
