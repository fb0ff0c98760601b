import { setTimeout as sleep } from 'node:timers/promises'
import { openGleaner } from '../../../src/index.ts'
import { until } from '../../until.ts'
import { read } from '../ground/ground.ts'
import { flawsOf } from '../ground/soundness.ts'
import { type Random, randomFrom } from '../random.ts'
import { Crew, PATIENCE_MS } from './crew.ts'
import { FIELDS, type Field, type Kind } from './faults.ts'
import { monotonicMs } from './monotonic.ts'
import type { Site } from './site.ts'
import { discoveries, TABLES, WORK } from './work.ts'

/** What `npm run torture` does of each kind. */
export const FAULTS: Record<Kind, number> = {
  server: 100,
  backend: 300,
  silent: 50,
  promotion: 20,
  disk: 5,
  'disk-sqlite': 5,
  clock: 10,
  'clock-sqlite': 10,
}

const [PRODUCERS, WORKERS] = [1, 3]
const ROWS_EACH_TIME = 10

export interface FaultOptions {
  count: number
  seed: number
  work: keyof typeof WORK
  /** Default as the engine's. */
  timings: object
  /** After which a silent connection is noticed. */
  noticedMs: number
  onFault?: (message: string) => void
}

export interface FaultBill {
  kind: Kind
  /** By variant: until work went on. */
  goesOnMs: Map<string, number[]>
  acknowledged: number
  /** Acknowledged, and not there. */
  lost: string[]
  /** What had not gone on, or not ended, when patience was over. */
  stuck: string[]
  /** Effects that were refused because they were there, and those that no completed task or row explains. */
  twice: string[]
  flaws: string[]
  /** Attempts that failed by no fault of their handler. */
  charged: string[]
  /** Sessions that ended because nobody renewed them. */
  expired: number
  refused: number
}

/** Processes at work, and one fault after the other; then the bill. */
export async function tortureByFaults(kind: Kind, options: FaultOptions): Promise<FaultBill> {
  const random = randomFrom(options.seed)
  const { noticedMs, timings, work } = options
  const processes = PRODUCERS + WORKERS
  const field: Field = await FIELDS[kind]({ random, processes, noticedMs })
  const scene = new Scene(kind, field, random, options)
  let crew: Crew | undefined
  try {
    await scene.setUp()
    const members = Array.from({ length: processes }, (_, n) => ({
      database: field.database(n),
      env: field.env?.(n),
    }))
    crew = new Crew(members, { producers: PRODUCERS, work, timings })
    await crew.ready()
    await scene.suffer(crew)
    await scene.end(crew)
  } finally {
    await crew?.dismiss()
    await field.close()
  }
  return scene.bill
}

class Scene {
  readonly bill: FaultBill
  readonly #field: Field
  readonly #site: Site
  readonly #random: Random
  readonly #options: FaultOptions
  #rows = 0

  constructor(kind: Kind, field: Field, random: Random, options: FaultOptions) {
    this.#field = field
    this.#site = field.site
    this.#random = random
    this.#options = options
    this.bill = {
      kind,
      goesOnMs: new Map(),
      acknowledged: 0,
      lost: [],
      stuck: [],
      twice: [],
      flaws: [],
      charged: [],
      expired: 0,
      refused: 0,
    }
  }

  async setUp(): Promise<void> {
    for (const sql of TABLES) await this.#site.rows(sql)
    const gleaner = await this.#opened()
    await gleaner.close()
  }

  async suffer(crew: Crew): Promise<void> {
    for (let n = 1; n <= this.#options.count; n++) {
      await this.#moreRows()
      // Not a wait for something: the moment of the fault.
      await sleep(this.#random.integer(0, 300))
      const { sinceMs, members, over, variant = '' } = await this.#field.strike(crew)
      const overMs = monotonicMs() - sinceMs
      const times = this.bill.goesOnMs.get(variant) ?? []
      this.bill.goesOnMs.set(variant, times)
      try {
        const tookMs = await crew.goesOn(sinceMs, monotonicMs, members)
        times.push(tookMs)
        this.#options.onFault?.(
          `${n}: ${variant} ${Math.round(tookMs)} ms, ${Math.round(overMs)} ms of it the fault itself`,
        )
      } catch (error) {
        // What never goes on has nothing to suffer any more.
        this.bill.stuck.push(`after ${n} of ${this.#options.count} (${variant}): ${error}`)
        return
      } finally {
        await over
      }
      // All of them are well again before the next one.
      await crew
        .goesOn(monotonicMs(), monotonicMs)
        .catch((error) => this.bill.stuck.push(`after ${n}: ${error}`))
    }
  }

  /** A table may be out of reach for a moment: its rows come the next time. */
  async #moreRows(): Promise<void> {
    const [from, to] = [this.#rows + 1, this.#rows + ROWS_EACH_TIME]
    this.#rows = to
    const values = Array.from({ length: ROWS_EACH_TIME }, (_, n) => `(${from + n}, 1)`)
    await this.#site.rows(`INSERT INTO pictures (id, todo) VALUES ${values.join()}`)
  }

  /** Everything that was acknowledged must come to its end, without help. */
  async end(crew: Crew): Promise<void> {
    const { bill } = this
    const startedMs = monotonicMs()
    const said = (what: string) =>
      this.#options.onFault?.(`${what} after ${Math.round(monotonicMs() - startedMs)} ms`)
    const must = (what: Promise<unknown>) => what.catch((error) => bill.stuck.push(String(error)))
    await this.#field.calm?.()
    await must(crew.stop('producer'))
    said('producers ended')
    await must(until('all has ended', async () => (await this.#unfinished()).length === 0, PATIENCE_MS))
    said('work ended')
    for (const row of (await this.#unfinished()).slice(0, 5)) bill.stuck.push(JSON.stringify(row))
    await must(crew.stop('worker'))
    said('workers ended')
    await this.#audit(crew)
  }

  async #unfinished() {
    return this.#site.rows(`SELECT id, status, fence, session, run_after FROM gleaner.tasks
      WHERE status NOT IN ('completed', 'failed', 'cancelled')
      UNION ALL SELECT id, 'row', NULL, NULL, NULL FROM pictures WHERE todo = 1 LIMIT 100`)
  }

  async #audit(crew: Crew): Promise<void> {
    const { bill } = this
    const acknowledged = crew.acknowledged
    bill.acknowledged = acknowledged.length
    bill.refused = crew.refusals.length
    const tasks = await this.#site.rows('SELECT id, status FROM gleaner.tasks')
    const statuses = new Map(tasks.map(({ id, status }) => [String(id), status]))
    for (const id of acknowledged) {
      const status = statuses.get(id) ?? 'gone'
      if (status === 'gone') bill.lost.push(`task ${id}`)
      else if (status !== 'completed') bill.stuck.push(`task ${id} is ${status}`)
    }
    const pictures = await read(this.#site, 'SELECT count(*) FROM pictures')
    if (Number(pictures[0]) !== this.#rows) bill.lost.push(`${pictures[0]} of ${this.#rows} rows`)
    await this.#auditEffects()
    bill.charged.push(...(await this.#failedAttempts()))
    const expired = await read(this.#site, `SELECT count(*) FROM gleaner.sessions WHERE cause = 'lease'`)
    bill.expired = Number(expired[0])
    const gleaner = await this.#opened()
    const findings = await gleaner.maintenance.check()
    bill.flaws.push(...findings.map((finding) => JSON.stringify(finding)), ...(await flawsOf(this.#site)))
    await gleaner.close()
  }

  /** An effect is there if, and only if, its task has completed, or its row is marked; and none was tried twice. */
  async #auditEffects(): Promise<void> {
    const sql = [
      `SELECT 'task ' || t.id FROM gleaner.tasks t JOIN gleaner.lanes l ON l.id = t.lane
         WHERE l.name IN ('effect', 'slow', 'limited')
           AND (t.status = 'completed') <> (t.id IN (SELECT task FROM effects))`,
      `SELECT 'row ' || id FROM pictures
         WHERE id % 2 = 0 AND (todo = 0) <> (id IN (SELECT picture FROM picture_effects))`,
      `SELECT 'task ' || task || ': ' || error FROM gleaner.attempts WHERE error LIKE '%duplicate key%' OR error LIKE '%UNIQUE%'`,
    ]
    for (const each of sql) this.bill.twice.push(...(await read(this.#site, each)).map(String))
  }

  async #failedAttempts(): Promise<string[]> {
    const sql = `SELECT error FROM gleaner.attempts WHERE outcome IN ('error', 'crash', 'timeout')`
    const counts = new Map<string, number>()
    for (const error of await read(this.#site, sql)) {
      const { kind, message } = JSON.parse(String(error))
      const what = `${kind}: ${message}`.replaceAll(/\d{4,}/g, '…')
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
    return [...counts].map(([what, n]) => `${n} × ${what}`)
  }

  async #opened() {
    const gleaner = await openGleaner({
      database: this.#field.database(0),
      tasks: [...WORK[this.#options.work]],
      discoveries,
      timings: this.#options.timings,
    })
    gleaner.on('problem', () => {})
    return gleaner
  }
}

/** Nothing, when every promise was kept. */
export function brokenByFaults({ lost, stuck, twice, flaws }: FaultBill): string[] {
  return [
    ...lost.map((what) => `lost: ${what}`),
    ...stuck.map((what) => `stuck: ${what}`),
    ...twice.map((what) => `twice: ${what}`),
    ...flaws,
  ]
}

/** Lines of a table of the guarantees page. */
export function tableOf(bills: readonly FaultBill[]): string {
  const rows = bills.flatMap((bill) =>
    [...bill.goesOnMs].map(([variant, times]) => {
      const sorted = times.toSorted((a, b) => a - b)
      const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
      const what = variant === '' ? bill.kind : `${bill.kind}: ${variant}`
      return `| ${what} | ${times.length} | ${seconds(median)} | ${seconds(sorted.at(-1) ?? Number.NaN)} |`
    }),
  )
  return [
    '| fault | times | work goes on after (median) | at most |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

export function faultSummary(bill: FaultBill): string {
  const { kind, acknowledged, lost, stuck, twice, expired, charged, refused } = bill
  const times = [...bill.goesOnMs.values()].flat().length
  const also = charged.length === 0 ? '' : `\n  attempts that failed: ${charged.slice(0, 5).join('\n    ')}`
  return (
    `${kind}: ${times} faults, ${acknowledged} acknowledged (${refused} calls refused), ${lost.length} lost, ` +
    `${stuck.length} stuck, ${twice.length} committed twice, ${expired} sessions expired${also}`
  )
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`
}
