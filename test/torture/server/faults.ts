import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { quickStart } from '../../quick-start/environment.ts'
import { until } from '../../until.ts'
import { SqliteGround } from '../ground/sqlite.ts'
import type { Random } from '../random.ts'
import { Cluster, FORGETFUL } from './cluster.ts'
import type { Crew, Member } from './crew.ts'
import { Link } from './link.ts'
import { monotonicMs } from './monotonic.ts'
import { Pair } from './pair.ts'
import { childrenOf } from './processes.ts'
import { type Site, siteOf } from './site.ts'
import { SmallDisk } from './small-disk.ts'

export interface Struck {
  /** From then on work could go on. */
  sinceMs: number
  /** Those that it happened to; default all. */
  members?: Member[]
  /** Until the next one may come. */
  over?: Promise<void>
  /** If its times are to be told apart. */
  variant?: string
}

/** Where one kind of fault happens. */
export interface Field {
  site: Site
  /** For the crew's process of this number. */
  database: (n: number) => string
  env?: (n: number) => NodeJS.ProcessEnv
  strike: (crew: Crew) => Promise<Struck>
  /** Before everything is to end: nothing happens any more. */
  calm?: () => Promise<void>
  close: () => Promise<void>
}

export interface FieldOptions {
  random: Random
  processes: number
  /** After which a silent connection is noticed. */
  noticedMs: number
}

export const FIELDS = {
  server: serverKills,
  backend: backendKills,
  silent: silences,
  promotion: promotions,
  disk: fullDisks,
  'disk-sqlite': fullDisksOfSqlite,
  clock: clockJumps,
  'clock-sqlite': clockJumpsOfSqlite,
} satisfies Record<string, (options: FieldOptions) => Promise<Field>>

export type Kind = keyof typeof FIELDS

/** Stock settings, but for the time in which commits are lost. */
const SETTINGS = FORGETFUL

async function serverKills({ random }: FieldOptions): Promise<Field> {
  const cluster = await Cluster.start({ settings: SETTINGS })
  return {
    ...fieldOf(cluster),
    async strike() {
      const sinceMs = monotonicMs()
      await cluster.kill()
      await sleep(random.integer(0, 500))
      await cluster.start()
      return { sinceMs }
    },
  }
}

async function backendKills({ random }: FieldOptions): Promise<Field> {
  const cluster = await Cluster.start({ settings: SETTINGS })
  return {
    ...fieldOf(cluster),
    async strike() {
      const sinceMs = monotonicMs()
      await cluster.killBackend(random.pick(childrenOf(cluster.pid)))
      await cluster.recovered()
      return { sinceMs }
    },
  }
}

function fieldOf(cluster: Cluster): Pick<Field, 'site' | 'database' | 'close'> {
  return { site: siteOf(() => cluster), database: () => cluster.url, close: () => cluster.remove() }
}

/** One process, or all; a firewall that forgot its connections, or a path that is broken for a time. */
async function silences({ random, processes, noticedMs }: FieldOptions): Promise<Field> {
  const cluster = await Cluster.start({ settings: SETTINGS })
  const links = await Promise.all(Array.from({ length: processes }, () => Link.to(cluster.port)))
  return {
    ...fieldOf(cluster),
    database: (n) => cluster.urlAt(links[n]!.port),
    async strike({ members }) {
      const one = random.integer(0, processes - 1)
      const struck = random.pick([links, [links[one]!]])
      const alsoNew = random.pick([true, false])
      const end = random.pick(['forward', 'reset'] as const)
      const sinceMs = monotonicMs()
      for (const link of struck) link.silence({ alsoNew })
      const over = sleep(noticedMs * (1.1 + random.integer(0, 40) / 100)).then(() => {
        for (const link of struck) link.restore(end)
      })
      if (alsoNew) await over
      return {
        // Through a broken path nothing can go on.
        sinceMs: alsoNew ? monotonicMs() : sinceMs,
        members: struck === links ? members : [members[one]!],
        over,
        variant: alsoNew ? 'the network is back' : 'connections are silent',
      }
    },
    async close() {
      for (const link of links) link.close()
      await cluster.remove()
    },
  }
}

/** Some processes know both servers, and some an address that leads to the primary. */
async function promotions(): Promise<Field> {
  const pair = await Pair.start()
  const link = await Link.to(pair.primary.port)
  return {
    site: siteOf(() => pair.primary),
    database: (n) => (n % 2 === 0 ? pair.primary.urlAt(link.port) : pair.url),
    async strike() {
      const sinceMs = monotonicMs()
      await pair.failOver()
      link.lead(pair.primary.port)
      return { sinceMs, over: pair.rebuildStandby() }
    },
    async close() {
      link.close()
      await pair.remove()
    },
  }
}

/** What the server makes of it is its own matter: it refuses, or it ends, and is then started again. */
async function fullDisks({ random }: FieldOptions): Promise<Field> {
  const disk = new SmallDisk(192)
  const settings = [...SETTINGS, 'min_wal_size=2MB', 'max_wal_size=8MB']
  const cluster = await Cluster.start({ settings, parent: disk.folder, initdb: ['--wal-segsize=1'] })
  return {
    ...fieldOf(cluster),
    async strike(crew) {
      await fillUntilRefused(disk, crew, random, () => !cluster.isRunning)
      await until('the server runs', async () => {
        if (!cluster.isRunning) await cluster.start().catch(() => {})
        return cluster.isUp()
      })
      return { sinceMs: monotonicMs() }
    },
    async close() {
      await cluster.remove()
      disk.remove()
    },
  }
}

async function fullDisksOfSqlite({ random }: FieldOptions): Promise<Field> {
  const disk = new SmallDisk(64)
  const ground = new SqliteGround(disk.folder)
  return {
    site: ground,
    database: () => ground.database,
    async strike(crew) {
      await fillUntilRefused(disk, crew, random, () => false)
      return { sinceMs: monotonicMs() }
    },
    async close() {
      await ground.clear()
      disk.remove()
    },
  }
}

const NOTICED_MS = 5_000

async function fillUntilRefused(
  disk: SmallDisk,
  crew: Crew,
  random: Random,
  isOver: () => boolean,
): Promise<void> {
  const before = crew.refusals.length
  const fill = setInterval(() => disk.fill(), 100)
  try {
    disk.fill()
    await until(
      'the full disk is noticed',
      () => isOver() || crew.refusals.length > before,
      NOTICED_MS,
    ).catch(() => {})
    await sleep(random.integer(0, 3_000))
  } finally {
    clearInterval(fill)
    disk.empty()
  }
}

const HOUR_MS = 3_600_000
const SET_CLOCK = join(import.meta.dirname, '../set-clock.ts')

/** The clocks of processes; each in a file that the process reads. */
class Clocks {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gleaner-clocks-'))
  readonly offsets: number[] = []

  constructor(processes: number) {
    for (let n = 0; n < processes; n++) this.set(n, 0)
  }

  env(n: number): NodeJS.ProcessEnv {
    return { ...quickStart(`--import ${SET_CLOCK}`), GLEANER_CLOCK: this.#fileOf(n) }
  }

  set(n: number, offsetMs: number): void {
    this.offsets[n] = offsetMs
    // One write, and as long as the last one: nobody reads half of it.
    writeFileSync(this.#fileOf(n), String(offsetMs).padEnd(20), { flag: 'w' })
  }

  setAll(offsetMs: number): void {
    for (const n of this.offsets.keys()) this.set(n, offsetMs)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #fileOf(n: number): string {
    return join(this.#folder, String(n))
  }
}

/** There, and back: an hour ahead, or an hour behind. */
function nextOffset(offsetMs: number, random: Random): number {
  return offsetMs === 0 ? random.pick([HOUR_MS, -HOUR_MS]) : 0
}

async function clockJumps({ random, processes }: FieldOptions): Promise<Field> {
  const cluster = await Cluster.start({ settings: SETTINGS })
  const clocks = new Clocks(processes)
  let serverMs = 0
  const setServer = async (offsetMs: number) => {
    serverMs = offsetMs
    await cluster.rows(`CREATE OR REPLACE FUNCTION gleaner.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
      AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + ${offsetMs}'`)
  }
  return {
    ...fieldOf(cluster),
    env: (n) => clocks.env(n),
    async strike() {
      const variant = random.pick(['the server', 'a process', 'all of them'])
      const sinceMs = monotonicMs()
      const one = random.integer(0, processes - 1)
      if (variant === 'a process') clocks.set(one, nextOffset(clocks.offsets[one]!, random))
      else await setServer(nextOffset(serverMs, random))
      if (variant === 'all of them') clocks.setAll(serverMs)
      return { sinceMs }
    },
    // What was put off while the clock was ahead is due when it is there again.
    calm: () => setServer(2 * HOUR_MS),
    async close() {
      clocks.remove()
      await cluster.remove()
    },
  }
}

async function clockJumpsOfSqlite({ random, processes }: FieldOptions): Promise<Field> {
  const ground = new SqliteGround()
  const clocks = new Clocks(processes)
  return {
    site: ground,
    database: () => ground.database,
    env: (n) => clocks.env(n),
    async strike() {
      const sinceMs = monotonicMs()
      clocks.setAll(nextOffset(clocks.offsets[0]!, random))
      return { sinceMs }
    },
    calm: async () => clocks.setAll(2 * HOUR_MS),
    async close() {
      clocks.remove()
      await ground.clear()
    },
  }
}
