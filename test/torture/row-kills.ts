import { join } from 'node:path'
import { type Gleaner, openGleaner, type RowRecord } from '../../src/index.ts'
import { Child } from '../journeys/child.ts'
import { FILES, someFiles, tagFiles } from './files.ts'
import { type Ground, read } from './ground/ground.ts'
import { flawsOf } from './ground/soundness.ts'
import { randomFrom } from './random.ts'

const PROGRAM = join(import.meta.dirname, 'programs/row-worker.ts')
const NAME = 'tag-files'
/** What one process says before it is killed, at most. */
const COMPLETED_MAX = 200

export interface RowTorture {
  rows: number
  /** Of these, at the head. */
  poison: number
  processes: number
  concurrency: number
  /** By us, from outside. */
  kills: number
  /** What a row takes that is no poison. */
  workMs?: number
  seed: number
}

export interface RowBill {
  kills: number
  /** Processes that a row took down. */
  aborted: number
  /** Rows that are marked, and those whose effect was committed. */
  done: number
  effects: number
  /** Everything that is left, which is poison. */
  quarantined: RowRecord[]
  claims: number
  ledger: number
  problems: string[]
  flaws: string[]
  /** Until the last row was done that is no poison, and until all was over. */
  goodMs: number
  elapsedMs: number
}

/** Processes on one table, killed from outside and by what they work on, and started again; then the bill. */
export async function tortureRows(ground: Ground, options: RowTorture): Promise<RowBill> {
  for (const sql of FILES) await ground.rows(sql)
  await ground.rows(someFiles(options.rows, options.poison))
  const overseer = await openGleaner({
    database: ground.database,
    discoveries: [tagFiles],
    timings: { sweep: '50ms' },
  })
  const crew = new Crew(ground, options)
  try {
    const startedMs = performance.now()
    let goodMs = 0
    await crew.workUntil(async () => {
      const stats = await overseer.discoveries.stats(NAME)
      const unquarantined = stats.waiting + stats.claimed + stats.backingOff
      if (unquarantined + stats.quarantined <= options.poison) goodMs ||= performance.now() - startedMs
      return unquarantined === 0 && (await onlyPoisonIsLeft(overseer, options))
    })
    const elapsedMs = performance.now() - startedMs
    return { ...crew.losses, goodMs, elapsedMs, ...(await bill(ground, overseer)) }
  } finally {
    await crew.dismiss()
    await overseer.close()
    await ground.clear()
  }
}

/** Nothing, if all is well. */
export function brokenRowPromises(bill: RowBill, { rows, poison, kills }: RowTorture): string[] {
  const must = (what: string, is: number, expected: number) =>
    is === expected ? [] : [`${what}: ${is}, not ${expected}`]
  const reasons = bill.quarantined.filter(({ key, state, error }) => {
    const kind = (['error', 'timeout', 'crash'] as const)[Number(key) % 3]
    return state !== 'quarantined' || error?.kind !== kind
  })
  return [
    ...must('rows done', bill.done, rows - poison),
    ...must('effects', bill.effects, rows - poison),
    ...must('rows put aside', bill.quarantined.length, poison),
    ...must('claims left', bill.claims, 0),
    ...must('entries of the ledger', bill.ledger, poison),
    ...must('kills', bill.kills, kills),
    ...reasons.map(({ key, state, error }) => `row ${key} is ${state} for ${error?.kind ?? 'no reason'}`),
    ...bill.flaws,
    ...(poison === 0 ? bill.problems : []),
  ]
}

export function rowSummary({
  done,
  effects,
  quarantined,
  kills,
  aborted,
  goodMs,
  elapsedMs,
}: RowBill): string {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  return (
    `${done} rows done in ${seconds(goodMs)} (all over in ${seconds(elapsedMs)}), ${effects} effects, ` +
    `${quarantined.length} put aside, ${kills} processes killed, ${aborted} taken down by a row`
  )
}

/** A row that the kills hit three times was put aside; it is tried once more. */
async function onlyPoisonIsLeft(overseer: Gleaner, { poison }: RowTorture): Promise<boolean> {
  const innocent = (await allRows(overseer)).filter((row) => Number(row.key) > poison)
  for (const { key } of innocent) await overseer.discoveries.release(NAME, key)
  return innocent.length === 0
}

async function allRows(overseer: Gleaner): Promise<RowRecord[]> {
  const rows: RowRecord[] = []
  let cursor: string | null = null
  do {
    const page = await overseer.discoveries.rows(NAME, { cursor, limit: 1_000 })
    rows.push(...page.items)
    cursor = page.next
  } while (cursor !== null)
  return rows
}

async function bill(ground: Ground, overseer: Gleaner) {
  const count = async (sql: string) => Number((await read(ground, sql))[0])
  return {
    done: await count('SELECT count(*) FROM files WHERE needs_tagging = 0'),
    effects: await count('SELECT count(*) FROM effects'),
    quarantined: await allRows(overseer),
    claims: await count('SELECT count(*) FROM gleaner.claims'),
    ledger: await count('SELECT count(*) FROM gleaner.ledger'),
    flaws: await flawsOf(ground),
  }
}

/** So many processes at any time: whoever dies is replaced. */
class Crew {
  readonly losses = { kills: 0, aborted: 0, problems: [] as string[] }
  readonly #ground: Ground
  readonly #options: RowTorture
  readonly #random: ReturnType<typeof randomFrom>
  readonly #children = new Set<Child>()
  #isOver = false

  constructor(ground: Ground, options: RowTorture) {
    this.#ground = ground
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  async workUntil(isOver: () => Promise<boolean>): Promise<void> {
    const crew = Array.from({ length: this.#options.processes }, () => this.#keepOne())
    while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 50))
    this.#isOver = true
    await this.dismiss()
    await Promise.all(crew)
  }

  async dismiss(): Promise<void> {
    this.#isOver = true
    await Promise.all([...this.#children].map((child) => child.kill()))
  }

  async #keepOne(): Promise<void> {
    while (!this.#isOver) {
      const { concurrency, workMs = 0 } = this.#options
      const env = { GLEANER_WORK_MS: String(workMs) }
      const child = new Child(PROGRAM, { database: this.#ground.database, concurrency }, env)
      this.#children.add(child)
      const killed = await this.#oneLife(child)
      this.#children.delete(child)
      if (!killed && !this.#isOver) this.losses.aborted += 1
      this.losses.problems.push(...child.all('problem').map(({ message }) => String(message)))
    }
  }

  /** Until it dies, or we kill it in the middle of something. */
  async #oneLife(child: Child): Promise<boolean> {
    const enough = this.#random.integer(1, COMPLETED_MAX)
    while (child.alive && !this.#isOver) {
      const mayKill = this.losses.kills < this.#options.kills
      if (mayKill && child.all('completed').length >= enough) {
        this.losses.kills += 1
        await child.kill()
        return true
      }
      await Promise.race([child.ended, new Promise((resolve) => setTimeout(resolve, 5))])
    }
    await child.ended
    return this.#isOver
  }
}
