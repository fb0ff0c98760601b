import type { Clock } from '../../clock.ts'
import type { Change } from '../../store/ports/change.ts'
import type { Item, Source } from '../attempt/source.ts'
import type { ManualClaimRequest } from './manual-claim-request.ts'
import type { ClaimServices } from './services.ts'
import type { PullSession, PullSessions } from './sessions.ts'

/** While nothing comes, each wait is longer than the one before. */
const IDLE_FACTOR = 1.5
/** A caller that waits over HTTP renews its lease so often. */
const RENEWALS_PER_LEASE = 3
/** If the row that crashed a worker went first each time, other rows would starve. */
const SUSPECT_ROWS_SHARE = 1 / 20

/** What keeps a suspect alone in its process. A caller elsewhere is a process of its own. */
export interface Seat {
  mayClaim(): boolean
  readonly isEmpty: boolean
  inTurn<T>(claim: () => Promise<T>): Promise<T>
  onNudge(nudge: () => void): () => void
}

export const SEAT_ELSEWHERE: Seat = {
  mayClaim: () => true,
  isEmpty: true,
  inTurn: (claim) => claim(),
  onNudge: () => () => {},
}

/** Items that were claimed together, of one source. */
export interface Batch {
  session: PullSession
  source: Source
  claims: readonly Item[]
}

type Look = { kind: 'batch'; batch: Batch } | { kind: 'nothing'; nextDueInMs: number } | { kind: 'ended' }

/** Claims when a caller asks for it, and waits for work if there is none. */
export class Puller {
  readonly #services: ClaimServices
  readonly #sessions: PullSessions
  readonly #seat: Seat

  constructor(services: ClaimServices, sessions: PullSessions, seat: Seat) {
    this.#services = services
    this.#sessions = sessions
    this.#seat = seat
  }

  /** Null: nothing came until the time was over, or the signal aborted. */
  async pull(wish: ManualClaimRequest, untilMs: number, signal: AbortSignal): Promise<Batch | null> {
    const rest = new Rest(this.#services.clock)
    const nudge = () => rest.nudge()
    let session = await this.#sessions.take(wish)
    const stops = [
      this.#services.store.onChange((change) => this.#heard(change, wish, nudge), session.sources.hears),
      this.#seat.onNudge(nudge),
    ]
    signal.addEventListener('abort', nudge)
    try {
      for (let idleMs = this.#services.timings.idleMinMs; ; idleMs *= IDLE_FACTOR) {
        const look = await this.#lookOf(session)
        if (look.kind === 'batch') return look.batch
        if (look.kind === 'ended') {
          session = await this.#sessions.take(wish)
          continue
        }
        const leftMs = untilMs - this.#services.clock.monotonicMs()
        if (leftMs <= 0 || signal.aborted) {
          this.#sessions.rest(session)
          return null
        }
        if (look.kind === 'nothing') await rest.within(this.#restMs(wish, look.nextDueInMs, idleMs, leftMs))
      }
    } catch (error) {
      // The claim may have been committed, and its answer was lost.
      await this.#sessions.end(session)
      throw error
    } finally {
      for (const stop of stops) stop()
      signal.removeEventListener('abort', nudge)
    }
  }

  #restMs({ leaseMs, remote }: ManualClaimRequest, ...waits: number[]): number {
    const { idleMaxMs } = this.#services.timings
    const renewMs = remote === null ? idleMaxMs : leaseMs / RENEWALS_PER_LEASE
    return Math.max(0, Math.min(idleMaxMs, renewMs, ...waits))
  }

  /** False: it leaves the turn to workers. */
  #heard(change: Change, { queues, tasks }: ManualClaimRequest, nudge: () => void): false {
    const what = change.kind === 'elsewhere' ? (change.only ?? 'work') : change.kind
    const task = change.kind === 'elsewhere' ? change.task : undefined
    const isOurs = task === undefined || (queues.includes(task.queue) && tasks.has(task.name))
    if (what === 'work' && isOurs) nudge()
    return false
  }

  async #lookOf(session: PullSession): Promise<Look> {
    const { remote, leaseMs } = session.wish
    const { clock } = this.#services
    const isOld = clock.monotonicMs() - session.renewedMs >= leaseMs / RENEWALS_PER_LEASE / 2
    if (remote !== null && isOld && !(await this.#sessions.renew(session.id))) return { kind: 'ended' }
    return this.#seat.inTurn(() => this.#look(session))
  }

  async #look(session: PullSession): Promise<Look> {
    if (!this.#seat.mayClaim()) return { kind: 'nothing', nextDueInMs: Number.POSITIVE_INFINITY }
    let nextDueInMs = Number.POSITIVE_INFINITY
    for (const source of session.sources.inTurn()) {
      const answer = await this.#ask(session, source)
      this.#services.meter.claimed(source.kind, answer.claims.length, answer.conflicts)
      if (answer.sessionEnded) {
        this.#sessions.lost(session)
        return { kind: 'ended' }
      }
      nextDueInMs = Math.min(nextDueInMs, answer.nextDueInMs ?? Number.POSITIVE_INFINITY)
      if (answer.claims.length === 0) continue
      session.sources.gave(source)
      for (const { id } of answer.claims) session.held.add(id)
      session.runsSuspect = answer.claims.some(({ suspect }) => suspect)
      return { kind: 'batch', batch: { session, source, claims: answer.claims } }
    }
    return { kind: 'nothing', nextDueInMs }
  }

  async #ask(session: PullSession, source: Source) {
    const { random } = this.#services
    const { isEmpty } = this.#seat
    const suspectFirst = isEmpty && (source.kind === 'tasks' || random() < SUSPECT_ROWS_SHARE)
    const exchange = (empty: boolean, holding?: readonly string[]) =>
      source.exchange({
        ...{ session: session.id, starts: [], outcomes: [], progress: [], logs: [], holding },
        want: { start: session.wish.limit, ahead: 0, empty, without: [] },
      })
    let answer = await exchange(suspectFirst)
    // A server that lost its last commits: nothing is held for this session.
    if (answer.compare === true) answer = await exchange(suspectFirst, [])
    const onlySuspects = answer.claims.length === 0 && answer.suspectsWaiting && isEmpty && !suspectFirst
    return onlySuspects ? exchange(true) : answer
  }
}

/** A nudge that comes while nothing rests is not lost. */
class Rest {
  readonly #clock: Clock
  #isNudged = false
  #wake = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nudge(): void {
    this.#isNudged = true
    this.#wake()
  }

  async within(ms: number): Promise<void> {
    if (!this.#isNudged)
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(ms, resolve)
        this.#wake = () => {
          cancel()
          resolve()
        }
      })
    this.#isNudged = false
    this.#wake = () => {}
  }
}
