import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Firing, NamedSchedule } from '../../src/model/schedule.ts'
import { Recurring } from '../../src/queue/recurring.ts'
import type { Store } from '../../src/store/ports/store.ts'
import { Claimant } from '../conformance/claimant.ts'
import { newTask } from '../conformance/world.ts'
import { reckon } from '../model/calendar.ts'
import { openSqliteDatabase, type SqliteTestDatabase } from '../store/sqlite-database.ts'

const MINUTE = 60_000
const YEAR = 365 * 24 * 60 * MINUTE
const everyTenMinutes = { name: 'job', every: '10m', timezone: null }

async function openDatabase(): Promise<SqliteTestDatabase> {
  const database = await openSqliteDatabase({ durability: 'normal' })
  onTestFinished(() => database.destroy())
  return database
}

/** A process reduced to what enqueues: its loop on a store of its own, and every look that it takes. */
class Process {
  readonly store: Store
  readonly fired: Firing['fired'] = []
  readonly problems: unknown[] = []
  looks = 0
  /** What a look fails with, while there is something. */
  trouble: Error | undefined
  readonly #loop: Recurring
  #looking: Promise<unknown> | undefined

  private constructor(database: SqliteTestDatabase, store: Store, { restMs = 20 * YEAR, deaf = false }) {
    this.store = store
    const watched: Store = {
      ...store,
      admin: {
        ...store.admin,
        fireSchedules: (tasks) => this.#look(() => store.admin.fireSchedules(tasks)),
      },
      ...(deaf ? { onChange: () => () => {} } : {}),
    }
    const occurrences = { schedules: [everyTenMinutes], tasks: [newTask()] }
    this.#loop = new Recurring(watched, database.clock, occurrences, {
      restMs,
      onEnqueued: () => {},
      onProblem: (_, error) => this.problems.push(error),
    })
    onTestFinished(() => this.#loop.stop())
  }

  static async start(
    database: SqliteTestDatabase,
    options: { restMs?: number; deaf?: boolean } = {},
  ): Promise<Process> {
    const process = new Process(database, await database.open(), options)
    process.#loop.start()
    return process
  }

  stop(): void {
    this.#loop.stop()
  }

  #look(fire: () => Promise<Firing>): Promise<Firing> {
    this.looks += 1
    const { trouble } = this
    const looking = trouble === undefined ? fire() : Promise.reject(trouble)
    this.#looking = looking.then(
      ({ fired }) => this.fired.push(...fired),
      () => {},
    )
    return looking
  }

  /** When it rests again. */
  async settled(): Promise<void> {
    while (this.#looking !== undefined) {
      const looking = this.#looking
      this.#looking = undefined
      await looking
      await turn()
    }
  }
}

async function settled(...processes: Process[]): Promise<void> {
  for (const process of processes) await process.settled()
}

describe('what recurs', () => {
  test('for ten years, while two processes race: each occurrence is enqueued once, in order', async () => {
    const database = await openDatabase()
    const { clock } = database
    const from = clock.now()
    const schedule: NamedSchedule = { name: 'job', every: '30 2 * * *', timezone: 'Europe/Berlin' }
    const store = await database.open()
    await store.admin.planSchedules([schedule])
    const worker = await new Claimant(store, clock).begin()
    // Of the file's changes they would hear in real time, which is not the one that passes here.
    const processes = [
      await Process.start(database, { deaf: true }),
      await Process.start(database, { deaf: true }),
    ]
    clock.advance(0)
    await settled(...processes)
    const until = from + 10 * YEAR
    for (;;) {
      const [record] = await store.admin.listSchedules()
      if (record!.nextAt! >= until) break
      expect(record!.nextAt).not.toBe(clock.now())
      clock.advance(record!.nextAt! - clock.now())
      await settled(...processes)
      for (const claim of await worker.claim(5)) await worker.complete(claim)
    }
    const [expected] = reckon('Europe/Berlin', from, until, [
      { matches: ({ hour, minute }) => hour === 2 && minute === 30, fixedTime: true },
    ])
    const fired = processes.flatMap((process) => process.fired.map(({ at }) => at))
    expect(fired.sort((a, b) => a - b)).toEqual(expected)
    expect(await store.tasks.countTasks({})).toMatchObject({ completed: expected!.length, queued: 0 })
  })

  test('is looked for when it is due, and not in between', async () => {
    const database = await openDatabase()
    const process = await Process.start(database, { restMs: 60 * MINUTE })
    await process.store.admin.planSchedules([everyTenMinutes])
    database.clock.advance(0)
    await process.settled()
    const before = process.looks
    for (let minute = 1; minute <= 9; minute++) {
      database.clock.advance(MINUTE)
      await process.settled()
    }
    expect(process.looks).toBe(before)
    database.clock.advance(MINUTE)
    await process.settled()
    expect(process.fired).toHaveLength(1)
  })

  test('and is far away, or paused, is looked for once in a while: somebody may have planned it anew', async () => {
    const database = await openDatabase()
    const store = await database.open()
    await store.admin.planSchedules([{ name: 'job', every: '0 0 1 6 *', timezone: 'UTC' }])
    const process = await Process.start(database, { restMs: MINUTE })
    database.clock.advance(0)
    await process.settled()
    const before = process.looks
    database.clock.advance(MINUTE)
    await process.settled()
    expect(process.looks).toBe(before + 1)
  })

  test('and is resumed in this process is looked for at once', async () => {
    const database = await openDatabase()
    const process = await Process.start(database)
    const { store } = process
    await store.admin.planSchedules([everyTenMinutes])
    await store.admin.setSchedulePaused('job', true)
    database.clock.advance(60 * MINUTE)
    await process.settled()
    await store.admin.setSchedulePaused('job', false)
    database.clock.advance(0)
    await process.settled()
    database.clock.advance(10 * MINUTE)
    await process.settled()
    expect(process.fired).toHaveLength(1)
  })

  test('and was changed by another process is looked for at once', async () => {
    const database = await openDatabase()
    const other = await database.open()
    await other.admin.planSchedules([{ name: 'job', every: '7d', timezone: null }])
    const process = await Process.start(database)
    database.clock.advance(0)
    await process.settled()
    // The file's watcher tells in its own time.
    const told = new Promise<void>((resolve) => {
      process.store.onChange((change) => {
        if (change.kind === 'elsewhere' && change.only === 'schedules') resolve()
      }, 'signals')
    })
    await other.admin.planSchedules([everyTenMinutes])
    await told
    database.clock.advance(0)
    await process.settled()
    database.clock.advance(10 * MINUTE)
    await process.settled()
    expect(process.fired).toHaveLength(1)
  })

  test('is tried again when the database fails, and the trouble is told once', async () => {
    const database = await openDatabase()
    const process = await Process.start(database)
    await process.store.admin.planSchedules([everyTenMinutes])
    process.trouble = new Error('away')
    for (let second = 0; second < 700; second++) {
      database.clock.advance(1_000)
      await process.settled()
    }
    expect(process.problems).toEqual([process.trouble])
    expect(process.fired).toEqual([])
    process.trouble = undefined
    database.clock.advance(1_000)
    await process.settled()
    expect(process.fired).toHaveLength(1)
  })

  test('is not looked for any more by a process that was stopped', async () => {
    const database = await openDatabase()
    const process = await Process.start(database)
    await process.store.admin.planSchedules([everyTenMinutes])
    database.clock.advance(0)
    await process.settled()
    process.stop()
    const before = process.looks
    database.clock.advance(60 * MINUTE)
    expect(process.looks).toBe(before)
  })
})
