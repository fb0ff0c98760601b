import { chosenOrders } from '../../model/chosen-order.ts'
import { identifySelf, type ProcessIdentity } from '../../process-identity.ts'
import type { Source } from '../attempt/source.ts'
import { RowsSource } from '../sources/rows.ts'
import { Sources } from '../sources/sources.ts'
import { TaskSource } from '../sources/tasks.ts'
import { keyOf, type ManualClaimRequest } from './manual-claim-request.ts'
import type { ClaimServices } from './services.ts'

/** An unused session is ended after this part of its lease. */
const IDLE_PER_LEASE = 1 / 2
/** The server forgets a batch after so many leases without a call. Its claims are over long before. */
const FORGOTTEN_AFTER_LEASES = 3

/** A session of a caller that pulls by hand, for one batch at a time. */
export interface PullSession {
  readonly id: string
  readonly wish: ManualClaimRequest
  readonly sources: Sources
  /** Ids of the items that are not settled yet. */
  readonly held: Set<string>
  /** It holds a suspect. */
  runsSuspect: boolean
  /** When its lease began anew. */
  renewedMs: number
  onLost: () => void
  cancelEnd: () => void
}

/**
 * Each batch has a session of its own: a caller that crashed and started again must not keep alive what it held before. When all
 * of a batch is settled, the next batch of the same caller takes over its session.
 */
export class PullSessions {
  readonly #services: ClaimServices
  readonly #idle = new Map<string, PullSession[]>()
  readonly #all = new Map<string, PullSession>()
  #isClosed = false
  /** Nothing waits for a free hand. */
  readonly prefetched = { size: 0 }

  constructor(services: ClaimServices) {
    this.#services = services
  }

  get(id: string): PullSession | undefined {
    return this.#all.get(id)
  }

  get running(): number {
    return [...this.#all.values()].reduce((sum, { held }) => sum + held.size, 0)
  }

  get runsSuspect(): boolean {
    return [...this.#all.values()].some((session) => session.runsSuspect)
  }

  async take(wish: ManualClaimRequest): Promise<PullSession> {
    this.#forgetOld()
    const idle = this.#idle.get(keyOf(wish))?.pop()
    idle?.cancelEnd()
    return idle ?? this.#open(wish)
  }

  async #open(wish: ManualClaimRequest): Promise<PullSession> {
    const { store, keeper, clock } = this.#services
    const sources = new Sources(sourcesOf(this.#services, wish))
    const { worker, capabilities, leaseMs, remote } = wish
    const id = await store.sessions.openSession({
      ...{ worker, capabilities, ...sources.serves },
      process: remote === null ? identifySelf() : elsewhere(remote.host),
      pulls: { leaseMs, caller: remote?.caller ?? null },
    })
    const renewedMs = clock.monotonicMs()
    const nothing = () => {}
    const session: PullSession = {
      ...{ id, wish, sources, held: new Set(), runsSuspect: false },
      ...{ renewedMs, onLost: nothing, cancelEnd: nothing },
    }
    this.#all.set(id, session)
    if (remote === null) keeper.hold(id, () => this.lost(session))
    return session
  }

  /** Nothing of its batch is left. */
  rest(session: PullSession): void {
    if (this.#isClosed || !this.#all.has(session.id)) return void this.end(session)
    session.onLost = () => {}
    session.runsSuspect = false
    const key = keyOf(session.wish)
    this.#idle.set(key, [...(this.#idle.get(key) ?? []), session])
    const idleMs = session.wish.leaseMs * IDLE_PER_LEASE
    session.cancelEnd = this.#services.clock.afterIfAlive(idleMs, () => void this.end(session))
  }

  /** The caller has been heard of. False: its lease was over. */
  async renew(id: string): Promise<boolean> {
    const { store, timings, clock } = this.#services
    const isAlive = await store.sessions.renewSession(id, timings.leaseMs)
    const session = this.#all.get(id)
    if (session !== undefined && isAlive) session.renewedMs = clock.monotonicMs()
    if (session !== undefined && !isAlive) this.lost(session)
    return isAlive
  }

  /** Another process ended it. */
  lost(session: PullSession): void {
    this.#forget(session)
    session.onLost()
  }

  /** Gives back what is left of its batch. */
  async end(session: PullSession): Promise<void> {
    const wasOurs = this.#all.has(session.id)
    this.#forget(session)
    // If the database is away, the lease ends it.
    if (wasOurs) await this.#services.store.sessions.endSession(session.id, 'stop').catch(() => {})
  }

  /** Callers over HTTP keep what they hold: another server of the same database goes on with them. */
  async close(): Promise<void> {
    this.#isClosed = true
    const ours = [...this.#all.values()].filter(({ wish, held }) => wish.remote === null || held.size === 0)
    await Promise.all(ours.map((session) => this.end(session)))
  }

  #forget(session: PullSession): void {
    session.cancelEnd()
    this.#all.delete(session.id)
    this.#services.keeper.release(session.id)
    const key = keyOf(session.wish)
    const others = (this.#idle.get(key) ?? []).filter((one) => one !== session)
    if (others.length > 0) this.#idle.set(key, others)
    else this.#idle.delete(key)
  }

  #forgetOld(): void {
    const nowMs = this.#services.clock.monotonicMs()
    for (const session of this.#all.values()) {
      const { wish, renewedMs } = session
      const isOld = nowMs - renewedMs > FORGOTTEN_AFTER_LEASES * wish.leaseMs
      if (wish.remote !== null && isOld) this.#forget(session)
    }
  }
}

function sourcesOf(
  { store }: ClaimServices,
  { queues, tasks, discoveries, capabilities }: ManualClaimRequest,
): Source[] {
  const sources: Source[] = []
  if (queues.length > 0 && tasks.size > 0)
    sources.push(
      new TaskSource(
        store.tasks,
        { queues, names: [...tasks.keys()], capabilities, orders: ordersOf(tasks) },
        tasks,
      ),
    )
  if (discoveries.size > 0) sources.push(new RowsSource(store.rows, discoveries))
  return sources
}

/** No process can prove that this one is dead: its lease decides. */
function elsewhere(host: string): ProcessIdentity {
  return { host: `http:${host}`, boot: 'http', pid: 0, startTime: null }
}

/** The orders that their definitions have. */
function ordersOf(tasks: ManualClaimRequest['tasks']) {
  const own = [...tasks.values()].filter(({ strategy }) => strategy !== null)
  return chosenOrders(new Map(), new Map(own.map(({ name, strategy }) => [name, strategy!])))
}
