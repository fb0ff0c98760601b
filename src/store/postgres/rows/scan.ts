import { keysAmong } from '../../../model/row.ts'
import type { BrokenDiscovery, RowClaim, RowClaimRequest } from '../../ports/rows.ts'
import { pauseBroken } from '../../scripts/rows/discoveries.ts'
import type { Statement } from '../server/database.ts'
import { driveOn } from '../server/scripts.ts'
import { type Claimed, claimStatement, readClaimed, type StillWanted, stillWanted } from './claim.ts'
import type { ScanStart } from './claim-sql.ts'
import type { KnownDiscovery } from './discovery-cache.ts'
import { isOwnFault } from './faults.ts'
import {
  type Depth,
  type FirstBatch,
  type IntendedClaim,
  preconditions,
  type RowPreconditions,
  rowPreconditionsOf,
} from './preconditions.ts'
import type { ScannedStep, ScanResult, ScanStep } from './scan-cursor.ts'
import { BACKGROUND, type RowServices } from './services.ts'
import { waitForTurn } from './turn.ts'

/** Entries of the ledger that one look compares with their rows. */
const LEDGER_ROWS = 200
/** After a lost race it tries again at once, at most this often: it may be the slowest of many. */
const RACES_MAX = 10
/** How often a table may be altered, or its discovery planned anew, before the scan gives up. */
const EDITIONS_MAX = 3

type Steps = Generator<ScanStep, ScanResult, ScannedStep>

/** A claim of what is probably next. */
interface Guess {
  intent: IntendedClaim
  statement: Statement
  /** It looked: this is its answer. */
  take(answer: readonly any[][], seen: RowPreconditions): void
}

/** Thrown when a claim did not look. */
class Outdated extends Error {}

/** The claiming part of one exchange. */
export class RowScan {
  readonly claims: RowClaim[] = []
  /** Discoveries that were paused on the way. */
  readonly broken: BrokenDiscovery[] = []
  /** Rows that others took first. */
  conflicts = 0
  readonly #services: RowServices
  readonly #session: string
  readonly #want: RowClaimRequest
  readonly #wakes: number
  #now: RowPreconditions | null = null
  #walked: KnownDiscovery[] = []
  #begun: { known: KnownDiscovery; steps: Steps; step: IteratorResult<ScanStep, ScanResult> } | null = null
  #unfinished = false

  constructor(services: RowServices, session: string, want: RowClaimRequest) {
    this.#services = services
    this.#session = session
    this.#want = want
    this.#wakes = services.wakes()
  }

  /** What goes with what is handed in: an outlook, and a claim if there is a guess. */
  async along(): Promise<FirstBatch> {
    const guess = await this.#guess()
    if (guess === null) return this.justLook()
    const depth = this.#services.seen.outlook?.ripe ? 'thorough' : 'glance'
    return {
      depth,
      statements: [this.#outlook(guess.intent, depth), guess.statement],
      take: ([now, claimed]) => {
        const seen = this.#see(now!)
        if (seen.turn) guess.take(claimed!, seen)
        return seen
      },
    }
  }

  justLook(): FirstBatch {
    return { depth: 'thorough', statements: [this.#outlook(null)], take: ([now]) => this.#see(now!) }
  }

  #outlook(intent: IntendedClaim | null, depth: Depth = 'thorough'): Statement {
    const { database, clockMs } = this.#services
    const who = { session: this.#session, discoveries: this.#want.discoveries, clockMs: clockMs() }
    return preconditions(database.sql.schema, who, intent, depth)
  }

  #see(rows: readonly any[][]): RowPreconditions {
    this.#services.seen.outlook = rowPreconditionsOf(rows)
    return this.#services.seen.outlook
  }

  /** Null: perhaps something else comes first. */
  async #guess(): Promise<Guess | null> {
    const { book, turns, seen } = this.#services
    const [name] = turns.of(this.#want.discoveries)
    const known = name === undefined ? null : await book.get(name).catch(() => null)
    if (known === null || seen.outlook === null || seen.outlook.due || seen.outlook.suspects) return null
    const wanted = stillWanted(this.#want, 0)
    const steps = this.#steps(known, wanted)
    const { value } = steps.next() as IteratorYieldResult<ScanStep>
    const look = lookOf(value)
    return {
      intent: { known, look, suspectsFirst: this.#want.empty, life: this.#life },
      statement: claimStatement(known, this.#session, { look, rows: value.rows }, wanted),
      take: (answer, now) => {
        const brought = this.#took(known, readClaimed(known, answer, wanted), now)
        this.#begun = { known, steps, step: steps.next(brought) }
      },
    }
  }

  /** Goes on until there is something, or everything was looked at. */
  async go(seen: RowPreconditions): Promise<RowPreconditions> {
    this.#now = seen
    const names = this.#services.turns.of(this.#want.discoveries)
    if (this.#want.empty && seen.suspects) {
      for (const name of names) {
        if (this.claims.length === 0) await this.#within(name, (known) => this.#takeSuspect(known))
      }
      if (this.claims.some(({ suspect }) => suspect)) return this.#now
    }
    for (const name of names) if (!this.#isEnough) await this.#within(name, (known) => this.#seek(known))
    return this.#now
  }

  /** When to ask again without a wake-up. Null: never. */
  nextDueInMs({ nextAt, now }: RowPreconditions): number | null {
    if (this.claims.length >= this.#want.start) return null
    if (this.#unfinished) return 0
    const nowMs = performance.now()
    const rests = this.#walked.map(({ walk }) => Math.ceil(walk.restsMs(nowMs))).filter((ms) => ms > 0)
    const soonest = Math.min(nextAt === null ? Number.POSITIVE_INFINITY : nextAt - now, ...rests)
    return soonest === Number.POSITIVE_INFINITY ? null : Math.max(0, soonest)
  }

  get #isEnough(): boolean {
    return this.claims.length >= this.#want.start + this.#want.ahead
  }

  #isOpen(name: string): boolean {
    const { live, everythingPaused, paused } = this.#now!
    return live && !everythingPaused && !paused.includes(name) && this.isCertain(this.#now!)
  }

  get #life(): number | null {
    return this.#services.life.of('rows', this.#session)
  }

  /** The server has lost nothing since what the session holds was compared. */
  isCertain({ life }: RowPreconditions): boolean {
    return this.#services.life.isCompared('rows', this.#session, life)
  }

  /** What was planned anew or altered is looked over once more; what cannot be worked on is paused, and harms no other. */
  async #within(name: string, work: (known: KnownDiscovery) => Promise<void>): Promise<void> {
    const { book } = this.#services
    for (let edition = 1; this.#isOpen(name); edition++) {
      try {
        return await work(await (edition === 1 ? book.get(name) : book.again(name)))
      } catch (error) {
        if (edition < EDITIONS_MAX && (error instanceof Outdated || isOwnFault(error))) continue
        return this.#stop(name, error)
      }
    }
  }

  /** A discovery that cannot be worked on is paused and says why. What is no fault of its own is thrown. */
  async #stop(discovery: string, error: unknown): Promise<void> {
    if (!isOwnFault(error)) throw error
    const reason = error.message
    if (await driveOn(this.#services.database.sql, pauseBroken(discovery, reason)))
      this.broken.push({ discovery, reason })
  }

  async #takeSuspect(known: KnownDiscovery): Promise<void> {
    const but = keysAmong(this.#want.avoid ?? [], known.name)
    await this.#look(known, { at: 'suspects', but }, { start: 1, total: 1 }, LEDGER_ROWS)
  }

  async #seek(known: KnownDiscovery): Promise<void> {
    this.#walked.push(known)
    if (this.#now!.due) {
      await this.#look(known, { at: 'due' }, stillWanted(this.#want, this.claims.length), LEDGER_ROWS)
    }
    for (let race = 0; race < RACES_MAX && !this.#isEnough && this.#now!.live; race++) {
      const walked = await this.#walk(known)
      if (walked === 'unfinished') this.#unfinished = true
      // What it saw may be in other hands now: there is perhaps more behind it.
      if (walked !== 'enough') return
    }
    if (!this.#isEnough) this.#unfinished = true
  }

  async #walk(known: KnownDiscovery): Promise<ScanResult> {
    const wanted = stillWanted(this.#want, this.claims.length)
    const begun = this.#begun?.known === known ? this.#begun : null
    this.#begun = null
    const steps = begun?.steps ?? this.#steps(known, wanted)
    let step = begun?.step ?? steps.next()
    while (!step.done) {
      const { value } = step
      const brought = await this.#look(known, lookOf(value), wanted, value.rows)
      step = steps.next(brought)
    }
    return step.value
  }

  #steps({ walk }: KnownDiscovery, wanted: StillWanted): Steps {
    const thorough = this.#want.thorough === true
    return walk.look({ count: wanted.total, thorough, wakes: this.#wakes, nowMs: () => performance.now() })
  }

  /** One step with its preconditions, when it is the turn of this process. It holds no lock while it waits for its turn. */
  async #look(
    known: KnownDiscovery,
    look: ScanStart,
    wanted: StillWanted,
    rows: number,
  ): Promise<ScannedStep> {
    const { database } = this.#services
    const [, now, answer] = await database.batch(
      [
        waitForTurn(database.sql.schema, known.name),
        this.#outlook({ known, look, suspectsFirst: false, life: this.#life }),
        claimStatement(known, this.#session, { look, rows }, wanted),
      ],
      BACKGROUND,
    )
    this.#now = this.#see(now!)
    if (!this.#now.turn) throw new Outdated()
    return this.#took(known, readClaimed(known, answer!, wanted), this.#now)
  }

  #took(
    known: KnownDiscovery,
    { claims, found, place, last, told }: Claimed,
    { position }: RowPreconditions,
  ): ScannedStep {
    this.claims.push(...claims)
    this.conflicts += found - claims.length
    if (claims.length > 0) this.#services.turns.served(this.#want.discoveries, known.name)
    return { found, place, last, told: told ?? position }
  }
}

function lookOf({ behind, tells, heard }: ScanStep): ScanStart {
  return behind === null ? { at: 'beginning', tells } : { at: 'behind', tells, place: behind, heard }
}
