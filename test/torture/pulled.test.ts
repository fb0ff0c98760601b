import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/http/index.ts'
import { openGleaner } from '../../src/index.ts'
import { until } from '../until.ts'
import { BOTH } from './ground/both.ts'
import { note, notesIn } from './pulled-work.ts'
import { randomFrom } from './random.ts'

const PROGRAMS = `${import.meta.dirname}/programs`
const TOKEN = 'the-token-of-the-pullers'
const TABLE = 'noted'
/** A minute in `npm run torture -- --only pulled`. */
const [KILLING_MS, ITEMS] = process.env.GLEANER_TORTURE === undefined ? [4_000, 150] : [60_000, 3_000]
const seed = Number(process.env.GLEANER_SEED ?? Date.now() % 1_000_000)

/** A process that is started again whenever it was killed, and what it says that it settled. */
class Phoenix {
  readonly #command: string
  readonly #args: string[]
  readonly #env: NodeJS.ProcessEnv
  readonly #onSettled: (id: string) => void
  #child: ChildProcess
  errors = ''

  constructor(command: string, args: string[], env: NodeJS.ProcessEnv, onSettled: (id: string) => void) {
    this.#command = command
    this.#args = args
    this.#env = { ...process.env, ...env }
    this.#onSettled = onSettled
    this.#child = this.#rise()
  }

  #rise(): ChildProcess {
    const child = spawn(this.#command, this.#args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] })
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const said = /^(\S+) (\S+) settled$/.exec(line)
      if (said !== null) this.#onSettled(`${said[1]} ${said[2]}`)
      if (!line.startsWith('{')) return
      const { event, name, id } = JSON.parse(line)
      if (event === 'settled') this.#onSettled(`${name} ${id}`)
    })
    child.stderr!.on('data', (text) => (this.errors += text))
    return child
  }

  kill(): void {
    this.#child.kill('SIGKILL')
    this.#child = this.#rise()
  }

  async pause(ms: number): Promise<void> {
    const child = this.#child
    child.kill('SIGSTOP')
    await setTimeout(ms)
    child.kill('SIGCONT')
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }
}

test.each(BOTH)(
  'on %s a Python worker over HTTP and Node workers on one queue do everything once, whoever is killed whenever',
  { timeout: 300_000 },
  async (_database, openGround) => {
    const random = randomFrom(seed)
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    await ground.rows(
      `CREATE TABLE ${TABLE} (id INTEGER PRIMARY KEY, needs INTEGER NOT NULL, runs INTEGER NOT NULL)`,
    )
    await ground.rows(`CREATE INDEX noted_needs ON ${TABLE} (id) WHERE needs = 1`)
    const { database } = ground
    const gleaner = await openGleaner({
      ...{ database, tasks: [note], discoveries: [notesIn(TABLE)] },
      timings: { sweep: '100ms', lease: '2s', idleMin: '50ms', idleMax: '200ms' },
    })
    const tokens = [
      { name: 'py', role: 'worker', token: TOKEN, queues: ['notes'], discoveries: ['notes'] },
    ] as const
    const server = await serve(gleaner, { port: 0, tokens })
    const settled = new Map<string, number>()
    const count = (id: string) => settled.set(id, (settled.get(id) ?? 0) + 1)
    const python = () =>
      new Phoenix(
        'python3',
        [`${PROGRAMS}/puller.py`],
        { GLEANER_URL: server.url, GLEANER_TOKEN: TOKEN },
        count,
      )
    const node = () => {
      const argument = JSON.stringify({ database, table: TABLE })
      return new Phoenix(
        process.execPath,
        [`${PROGRAMS}/pulled-worker.ts`, argument],
        { GLEANER_CHILD: '1' },
        count,
      )
    }
    const pythons = [python(), python()]
    const nodes = node()
    const crew = [...pythons, nodes]
    onTestFinished(async () => {
      for (const one of crew) one.end()
      await server.close()
      await gleaner.close()
    })

    const ids = Array.from({ length: ITEMS }, (_, n) => n + 1)
    await ground.rows(`INSERT INTO ${TABLE} VALUES ${ids.map((id) => `(${id}, 1, 0)`).join(', ')}`)
    await gleaner.enqueueMany(
      note,
      ids.map((id) => ({ id })),
    )
    const endsAt = performance.now() + KILLING_MS
    const pauses: Promise<void>[] = []
    let kills = 0
    while (performance.now() < endsAt) {
      await setTimeout(random.integer(100, 500))
      // Node workers start slowly: they are killed more seldom.
      const victim = random.pick([...pythons, ...pythons, nodes])
      if (random.integer(1, 4) === 1) pauses.push(victim.pause(2_500))
      else victim.kill()
      kills += 1
    }
    await Promise.all(pauses)
    const left = async () => {
      const { scheduled, queued, running } = await gleaner.tasks.counts()
      return scheduled + queued + running
    }
    await until('all tasks are done', async () => (await left()) === 0, 120_000)
    const needing = () => ground.rows(`SELECT id FROM ${TABLE} WHERE needs = 1`)
    await until('all rows are done', async () => (await needing()).length === 0, 120_000)
    const what = `${kills} kills and stops, seed ${seed}; ${crew.map(({ errors }) => errors).join('')}`
    expect(await gleaner.tasks.counts(), what).toMatchObject({ completed: ITEMS, failed: 0, cancelled: 0 })
    expect(await ground.rows(`SELECT * FROM ${TABLE} WHERE runs <> 1`), what).toEqual([])
    expect(
      [...settled].filter(([, times]) => times > 1),
      what,
    ).toEqual([])
    // Nothing but what was killed between its settlement and its word is missing.
    expect(settled.size, what).toBeGreaterThanOrEqual(2 * ITEMS - 2 * kills)
    console.log(
      `${kills} kills and stops, ${settled.size} of ${2 * ITEMS} settlements were told, seed ${seed}`,
    )
  },
)
