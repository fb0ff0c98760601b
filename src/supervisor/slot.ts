import type { Pool } from '../config/types.ts'
import { exitReasonOf, isCleanExit, type ProcessExit, type Recovered } from '../model/exit.ts'
import type { RestartDecision, RestartPolicy } from '../model/restart.ts'
import type { Health, LastExit, WorkerRecord, WorkerStatus } from '../model/worker.ts'
import type { Frame } from '../process/frame.ts'
import type { Child } from './child.ts'
import { ExitingProcesses, type ExitServices } from './exiting.ts'
import { checkLiveness } from './liveness.ts'
import { Restarts } from './restarts.ts'
import { healthOf, type Incarnation, recordOf, type SlotState } from './state.ts'

export interface SlotServices extends ExitServices {
  policy: RestartPolicy
  /** Starts a process; its events come back here. */
  spawn(slot: Slot, incarnation: Incarnation): Child
  changed(slot: Slot): void
}

/** A replaced process finishes its items, which have time-outs of their own. */
const REPLACED_DRAIN_MS = 24 * 3_600_000
/** After a replacement that failed, the old process continues for that long before the next attempt. */
const RECYCLE_AGAIN_MS = 60_000

/** One worker of a pool: its processes, one after the other. */
export class Slot {
  readonly id: string
  readonly pool: Pool
  readonly index: number
  readonly #services: SlotServices
  #child: Child | null = null
  /** The process that takes over once it is ready. */
  #next: { child: Child; ready: PromiseWithResolvers<void> } | null = null
  readonly #exiting: ExitingProcesses
  #status: WorkerStatus = 'starting'
  readonly #restarts: Restarts
  #paused = false
  /** An older release stored the pause: there a pause of everything also paused each worker. */
  #pausedBefore = false
  #failed: string | null = null
  /** Why it backs off, as it was last logged. */
  #reason: string | null = null
  #lastExit: LastExit | null = null
  #incarnation = 0
  #healthyMs = 0
  #recycledMs = Number.NEGATIVE_INFINITY
  #cancelRestart: () => void = () => {}
  #stopped = false

  constructor(pool: Pool, index: number, services: SlotServices, before: SlotState | undefined) {
    this.id = `worker:${pool.name}:${index}`
    this.pool = pool
    this.index = index
    this.#services = services
    this.#exiting = new ExitingProcesses(services)
    this.#restarts = new Restarts(services.policy, services.clock, before?.restart)
    if (before === undefined) return
    this.#paused = before.paused
    this.#pausedBefore = before.paused && before.pausedAlone !== true
    this.#failed = before.failed
    this.#lastExit = before.record.lastExit
    this.#incarnation = before.record.incarnation ?? 0
  }

  start(): void {
    if (this.#stopped || this.#child !== null) return
    if (this.#failed !== null) return this.#become('failed')
    this.#child = this.#spawn()
    this.#healthyMs = 0
    this.#become('starting')
  }

  heard(child: Child, frame: Frame): void {
    if (!child.ready && frame.status !== 'pending' && frame.phase !== 'initializing') {
      child.ready = true
      this.#services.logger.info({ worker: this.id, pid: child.pid }, 'worker ready')
      if (child === this.#next?.child) this.#next.ready.resolve()
    }
    if (child !== this.#child) return
    this.#logReason(child, frame.reason)
    if (child.ready && !this.#exiting.has(child)) this.#become(this.#working(child))
    else this.#services.changed(this)
  }

  /** Once for each reason, because every frame repeats it. */
  #logReason({ pid }: Child, reason: string | null): void {
    if (reason === this.#reason) return
    this.#reason = reason
    const { logger } = this.#services
    if (reason !== null) logger.warn({ worker: this.id, pid, reason }, 'worker backs off')
    else logger.info({ worker: this.id, pid }, 'worker no longer backs off')
  }

  exited(child: Child, exit: ProcessExit): void {
    const reason = exitReasonOf(exit)
    const { code, signal } = exit
    const details = { worker: this.id, pid: child.pid, code, signal, noise: child.noise }
    this.#services.logger[exit.requested === null ? 'warn' : 'info'](details, `worker ended: ${reason}`)
    const recovering = this.#exiting.recover(child)
    if (child === this.#next?.child) {
      this.#next.ready.reject(new Error(`the new process of ${this.id} did not become ready: ${reason}`))
      this.#next = null
      return
    }
    if (child !== this.#child) return
    const { phase = null, rss = null } = child.frame ?? {}
    const lastExit = { at: this.#services.clock.now(), code, signal, reason, phase, rss }
    void recovering.then((held) => Object.assign(lastExit, { reason: exitReasonOf(exit, held) }))
    this.#lastExit = lastExit
    this.#child = null
    this.#reason = null
    if (this.#stopped) return this.#become('stopped')
    this.#become(isCleanExit(exit) ? 'backing-off' : 'crashed')
    // A replacement that is under way takes over.
    if (this.#next !== null) return this.#promote()
    void this.#restart(exit, recovering)
  }

  async #restart(exit: ProcessExit, recovering: Promise<Recovered>): Promise<void> {
    const decision = await this.#restarts.after(exit, recovering, (amended) => this.#amend(decision, amended))
    if (this.#stopped || this.#child !== null) return
    this.#follow(decision)
  }

  /** The database did not answer in time, and the decision followed from a wrong guess. */
  #amend(decision: RestartDecision, amended: RestartDecision): void {
    if (this.#stopped) return
    if (amended.kind === 'give-up') {
      if (this.#failed === null) this.#giveUp(amended.reason)
    } else if (decision.kind === 'give-up' && this.#failed === decision.reason) {
      this.#failed = null
      this.start()
    }
    this.#services.changed(this)
  }

  #follow(decision: RestartDecision): void {
    const { clock, logger } = this.#services
    if (decision.kind === 'give-up') return this.#giveUp(decision.reason)
    if (decision.afterMs === 0) return this.start()
    logger.info({ worker: this.id, afterMs: decision.afterMs }, 'worker will be restarted')
    this.#become('backing-off')
    this.#cancelRestart = clock.after(decision.afterMs, () => this.start())
  }

  #giveUp(reason: string): void {
    this.#failed = reason
    if (this.#lastExit !== null)
      this.#lastExit = { ...this.#lastExit, reason: `${this.#lastExit.reason}; given up: ${reason}` }
    this.#services.logger.error(
      { worker: this.id, reason },
      'worker given up: fix the cause, then run `gleaner resume`',
    )
    this.#become('failed')
    if (this.#child !== null) this.#exiting.kill(this.#child, { kind: 'given-up' }, reason)
  }

  /** It is paused when it says so: until then it may still start something. */
  pause(): void {
    this.#paused = true
    this.#pausedBefore = false
    for (const child of this.#children()) child.tell({ type: 'pause' })
    this.#services.changed(this)
  }

  resume(): void {
    this.#paused = false
    this.#pausedBefore = false
    for (const child of this.#children()) child.tell({ type: 'resume' })
    if (this.#status === 'paused' && this.#child !== null) this.#become(this.#working(this.#child))
    this.revive()
    this.#services.changed(this)
  }

  /** If it was given up, it starts again. A worker that was paused by a command for workers stays paused. */
  revive(): void {
    if (this.#pausedBefore) return this.resume()
    if (this.#failed === null) return
    this.#failed = null
    this.#restarts.forget()
    this.start()
  }

  /** The new process is ready before the old one stops. If it does not become ready, the old one stays. */
  async replace(why: string): Promise<void> {
    if (this.#stopped) return
    this.#services.logger.info({ worker: this.id, why }, 'worker is being replaced')
    if (this.#child === null) {
      this.#cancelRestart()
      this.#failed = null
      return this.start()
    }
    if (this.#next === null) {
      const next = { child: this.#spawn(), ready: Promise.withResolvers<void>() }
      this.#next = next
      void next.ready.promise.then(
        () => this.#next === next && this.#promote(),
        () => {},
      )
    }
    return this.#next.ready.promise
  }

  #promote(): void {
    const old = this.#child
    const { child } = this.#next!
    this.#next = null
    this.#child = child
    this.#healthyMs = 0
    if (old !== null) this.#exiting.stop(old, REPLACED_DRAIN_MS, 'replaced')
    this.#become(child.ready ? this.#working(child) : 'starting')
  }

  async stop(drainMs: number): Promise<void> {
    this.#stopped = true
    this.#cancelRestart()
    const all = [...this.#children(), ...this.#exiting.all]
    this.#become(all.length > 0 ? 'stopping' : 'stopped')
    for (const child of all) this.#exiting.stop(child, drainMs, 'stop')
    await this.#exiting.finished()
    this.#become('stopped')
  }

  /** Checks its processes. `elapsedMs`: the time in which the supervisor could hear them. */
  look(elapsedMs: number): void {
    // Each once: a process that stops is in both lists.
    for (const child of new Set([...this.#children(), ...this.#exiting.all])) {
      child.silentMs += elapsedMs
      child.ageMs += elapsedMs
      const action = checkLiveness(child, this.pool, this.#services.timings)
      if (action?.kind === 'kill') this.#exiting.kill(child, action.requested, action.why)
      else if (action !== null && child === this.#child) this.#recycle(action.why)
    }
    this.#healthyMs = this.health === 'healthy' ? this.#healthyMs + elapsedMs : 0
    if (this.#healthyMs > 0) this.#restarts.wasHealthyFor(this.#healthyMs)
    this.#services.changed(this)
  }

  #recycle(why: string): void {
    const now = this.#services.clock.monotonicMs()
    if (this.#next !== null || now - this.#recycledMs < RECYCLE_AGAIN_MS) return
    this.#recycledMs = now
    this.replace(why).then(
      () => {
        this.#recycledMs = Number.NEGATIVE_INFINITY
      },
      (error) => this.#services.logger.warn({ worker: this.id, err: error }, 'worker could not be replaced'),
    )
  }

  get health(): Health {
    const { staleMs } = this.#services.timings
    return healthOf({ child: this.#child, status: this.#status, failed: this.#failed, staleMs })
  }

  get record(): WorkerRecord {
    const { counts: restarts } = this.#restarts
    const incarnation = this.#child?.assignment.incarnation ?? (this.#incarnation || null)
    const known = { status: this.#status, incarnation, restarts, lastExit: this.#lastExit }
    return recordOf({ ...known, id: this.id, pool: this.pool.name, health: this.health }, this.#child)
  }

  get state(): SlotState {
    const { id, record } = this
    const paused = this.#paused
    const pausedAlone = paused && !this.#pausedBefore
    return { id, restart: this.#restarts.state, paused, pausedAlone, failed: this.#failed, record }
  }

  #working({ frame }: Child): WorkerStatus {
    const isPaused = frame?.phase === 'paused' || (this.#paused && frame?.paused === true)
    return isPaused ? 'paused' : 'running'
  }

  #children(): Child[] {
    return [this.#child, this.#next?.child ?? null].filter((child) => child !== null)
  }

  /** A later incarnation has a larger number, also after a supervisor that could not write down the last one. */
  #spawn(): Child {
    this.#incarnation = Math.max(this.#services.clock.now(), this.#incarnation + 1)
    const incarnation = {
      incarnation: this.#incarnation,
      paused: this.#paused,
      avoid: this.#restarts.crashedOn,
    }
    return this.#services.spawn(this, incarnation)
  }

  #become(status: WorkerStatus): void {
    this.#status = status
    this.#services.changed(this)
  }
}
