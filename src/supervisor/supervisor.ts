import { systemClock } from '../clock.ts'
import { type Duration, durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import type { Health, WorkerRecord } from '../model/worker.ts'
import { namesHint } from '../options.ts'
import { identifySelf, type ProcessIdentity } from '../process-identity.ts'
import type { SupervisorCommand } from '../store/ports/supervision.ts'
import type { Supervisor, SupervisorSetup } from './contract.ts'
import { CrashRecovery } from './crash-recovery.ts'
import { type Leadership, takeDefaultLeadership, takeLeadership } from './leadership.ts'
import { SILENT } from './logger.ts'
import { isGone, orphansAmong } from './orphans.ts'
import { SupervisorRegistry } from './registry.ts'
import { Slot } from './slot.ts'
import { spawnChild } from './spawn.ts'
import { forgotten, type Incarnation } from './state.ts'
import { policyOf, type Timings, timingsOf } from './timings.ts'

/** Looks that were missed: we were not there (a closed lid, a stopped process), and nobody is to blame for it. */
const GAP_LOOKS = 3
const GAP_MS = 1_000
/** The last words go to a database that may be away. */
const LAST_WORDS_MS = 2_000

/** Becomes the leader of its name and starts the workers. Rejects with SUPERVISOR_RUNS while another one of this name runs. */
export async function openSupervisor(options: SupervisorSetup): Promise<Supervisor> {
  const timings = timingsOf(options.timings)
  const { store, name, logger = SILENT } = options
  const leadership = await (name === undefined
    ? takeDefaultLeadership(store, logger)
    : takeLeadership(store, name))
  const supervisor = new ProcessSupervisor(options, timings, leadership)
  await supervisor.begin()
  return supervisor
}

class ProcessSupervisor implements Supervisor {
  readonly name: string
  readonly ended: Promise<void>
  readonly #options: SupervisorSetup
  readonly #timings: Timings
  readonly #clock = systemClock
  readonly #logger
  readonly #slots: ReadonlyMap<string, Slot>
  readonly #registry: SupervisorRegistry
  readonly #recovery: CrashRecovery
  readonly #end = Promise.withResolvers<void>()
  #lookedMs: number
  #cancelLook: () => void = () => {}
  #stopping: Promise<void> | undefined

  constructor(options: SupervisorSetup, timings: Timings, leadership: Leadership) {
    const { store, logger = SILENT } = options
    this.name = leadership.name
    this.ended = this.#end.promise
    this.#options = options
    this.#timings = timings
    this.#logger = logger
    this.#lookedMs = this.#clock.monotonicMs()
    this.#recovery = new CrashRecovery({ ...options, store, clock: this.#clock, logger })
    this.#slots = this.#slotsOf(leadership)
    this.#registry = new SupervisorRegistry(leadership, {
      store,
      clock: this.#clock,
      logger,
      timings,
      states: () => [...this.#slots.values()].map(({ state }) => state),
      obey: (command) => this.#obey(command),
      onLost: () => this.#lose(),
    })
  }

  #slotsOf({ before }: Leadership): Map<string, Slot> {
    const spawning = {
      ...this.#options,
      supervisor: identifySelf(),
      logger: this.#logger,
      timings: this.#timings,
    }
    const services = {
      clock: this.#clock,
      logger: this.#logger,
      timings: this.#timings,
      policy: policyOf(this.#options),
      recovery: this.#recovery,
      spawn: (slot: Slot, incarnation: Incarnation) => spawnChild(spawning, slot, incarnation),
      changed: (slot: Slot) => this.#changed(slot),
    }
    const slots = this.#options.pools.flatMap((pool) =>
      Array.from({ length: pool.processes }, (_, index) => {
        const state = before.get(`worker:${pool.name}:${index}`)
        return new Slot(pool, index, services, this.#options.forgets === true ? forgotten(state) : state)
      }),
    )
    return new Map(slots.map((slot) => [slot.id, slot]))
  }

  async begin(): Promise<void> {
    const { store } = this.#options
    // What the one before us left behind, when he was killed together with his workers.
    const sweeper = new Sweeper(store, this.#clock, {
      leaseMs: Number.POSITIVE_INFINITY,
      everyMs: 0,
      onEnded: ({ worker }, cause, end) => this.#recovery.reportBlamed(worker, cause, end),
    })
    await sweeper.sweep()
    const orphans = orphansAmong(await store.sessions.liveSessions(), store)
    for (const slot of this.#slots.values()) {
      const orphan = orphans.get(slot.id)
      if (orphan === undefined) {
        slot.start()
        continue
      }
      this.#logger.info(
        { worker: slot.id, pid: orphan.pid },
        'waiting for a worker of an earlier supervisor to finish',
      )
      void this.#isGone(orphan).then(() => slot.start())
    }
    this.#registry.start()
    this.#lookAgain()
  }

  #isGone(orphan: ProcessIdentity): Promise<void> {
    const { store } = this.#options
    return isGone(orphan, store, this.#clock, () => this.#stopping !== undefined)
  }

  #changed(slot: Slot): void {
    // Not before all of them are there.
    this.#registry?.changed()
    this.#options.onChange?.(slot.record)
  }

  /**
   * Judges everybody, but only after a time in which we were there to hear them: after a gap the pipes are drained
   * first, and what was not heard during the gap is held against nobody.
   */
  #look(): void {
    const now = this.#clock.monotonicMs()
    const elapsedMs = now - this.#lookedMs
    const { lookMs } = this.#timings
    this.#lookedMs = now
    if (elapsedMs < Math.max(lookMs * GAP_LOOKS, GAP_MS))
      for (const slot of this.#slots.values()) slot.look(Math.min(elapsedMs, lookMs * 2))
    this.#lookAgain()
  }

  #lookAgain(): void {
    this.#cancelLook = this.#clock.after(this.#timings.lookMs, () => this.#look())
  }

  #obey({ action, worker }: SupervisorCommand): void {
    const of = worker ?? undefined
    this.#logger.info({ action, worker: of }, `command: ${action}`)
    try {
      if (action === 'pause') this.pause(of)
      else if (action === 'resume') this.resume(of)
      else if (action === 'revive') for (const slot of this.#of(of)) slot.revive()
      else this.restart(of).catch((error) => this.#logger.error({ err: error }, 'the restart failed'))
    } catch (error) {
      this.#logger.warn({ err: error }, 'a command failed')
    }
  }

  /** This supervisor was away for too long, so another one leads, with workers of its own. */
  #lose(): void {
    this.#logger.error(
      { name: this.name },
      'another supervisor with this name has taken over: this one stops',
    )
    void this.stop()
  }

  workers(): WorkerRecord[] {
    return [...this.#slots.values()].map(({ record }) => record)
  }

  getStatus(id: string): Health {
    return this.#named(id).health
  }

  getCurrentItem(id: string): string | null {
    return this.#named(id).record.current[0]?.item ?? null
  }

  pause(worker?: string): void {
    for (const slot of this.#of(worker)) slot.pause()
  }

  resume(worker?: string): void {
    for (const slot of this.#of(worker)) slot.resume()
  }

  async restart(worker?: string): Promise<void> {
    for (const slot of this.#of(worker)) await slot.replace('an operator asked for a restart')
  }

  stop(options: { drain?: Duration } = {}): Promise<void> {
    const drainMs = durationMs(options.drain ?? this.#timings.drainMs, 'drain')
    const stopped = [...this.#slots.values()].map((slot) => slot.stop(drainMs))
    this.#stopping ??= this.#leave(stopped)
    return this.#stopping
  }

  async #leave(stopped: Promise<void>[]): Promise<void> {
    // Those who are being stopped are still listened to: a hung one is still killed.
    await Promise.all(stopped)
    this.#cancelLook()
    this.#recovery.stop()
    await this.#registry.close(LAST_WORDS_MS)
    this.#end.resolve()
  }

  #of(worker: string | undefined): Slot[] {
    return worker === undefined ? [...this.#slots.values()] : [this.#named(worker)]
  }

  #named(id: string): Slot {
    const slot = this.#slots.get(id)
    if (slot !== undefined) return slot
    throw new InputError(`there is no worker ${JSON.stringify(id)}`, {
      code: 'UNKNOWN_WORKER',
      hint: namesHint(id, [...this.#slots.keys()]),
    })
  }
}
