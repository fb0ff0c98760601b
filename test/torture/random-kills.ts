import { join } from 'node:path'
import { type Gleaner, openGleaner, TaskFailed } from '../../src/index.ts'
import { Child } from '../journeys/child.ts'
import { type Ground, read } from './ground/ground.ts'
import { flawsOf } from './ground/soundness.ts'
import { type Random, randomFrom } from './random.ts'
import { EFFECTS, effect, plain, tasks } from './tasks.ts'

const PROGRAMS = join(import.meta.dirname, 'programs')

/** More would only make the end wait: the kills are what matters. */
const BACKLOG_MAX = 3_000

export interface Torture {
  seed: number
  kills: number
  /** Processes at the same time. */
  producers: number
  workers: number
  /** Hears of each kill. */
  onKill?: (kills: number) => void
}

export interface Damage {
  seed: number
  kills: number
  producersKilled: number
  workersKilled: number
  acknowledged: number
  /** Acknowledged, and not there. */
  lost: string[]
  /** Acknowledged, and not completed at the end. */
  unended: string[]
  completed: number
  /** Put aside because the kills hit them too often; they ended after a retry by hand. */
  quarantined: number
  /** Failures that no kill explains, e.g. a second effect of the same task. */
  failures: string[]
  effects: number
  /** Completed tasks that should have an effect. */
  effectsDue: number
  problems: string[]
  flaws: string[]
}

/** Producers and workers on one database, killed at random moments and started again; then the bill. */
export async function torture(ground: Ground, options: Torture): Promise<Damage> {
  const scene = new Scene(ground, options)
  try {
    await scene.setUp()
    await scene.killAtRandom()
    return await scene.bill()
  } finally {
    await scene.tearDown()
    await ground.clear()
  }
}

interface Role {
  kind: 'producer' | 'worker'
  /** What it must have said that often before it is killed. */
  event: string
  mostEvents: number
}

const PRODUCER: Role = { kind: 'producer', event: 'acknowledged', mostEvents: 60 }
const WORKER: Role = { kind: 'worker', event: 'completed', mostEvents: 40 }

class Scene {
  readonly #ground: Ground
  readonly #options: Torture
  readonly #random: Random
  readonly #children = new Set<Child>()
  readonly #acknowledged = new Set<string>()
  readonly #problems: string[] = []
  readonly #killed = { producer: 0, worker: 0 }
  #overseer!: Gleaner

  constructor(ground: Ground, options: Torture) {
    this.#ground = ground
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  get #kills(): number {
    return this.#killed.producer + this.#killed.worker
  }

  async setUp(): Promise<void> {
    this.#overseer = await openGleaner({
      database: this.#ground.database,
      tasks,
      timings: { sweep: '50ms' },
    })
    await this.#ground.rows(EFFECTS)
  }

  async killAtRandom(): Promise<void> {
    const { producers, workers } = this.#options
    const roles = [...Array(producers).fill(PRODUCER), ...Array(workers).fill(WORKER)] as Role[]
    await Promise.all(
      roles.map(async (role) => {
        while (this.#kills < this.#options.kills) await this.#oneLife(role)
      }),
    )
  }

  /** Starts a process, lets it do something, kills it at some moment. */
  async #oneLife(role: Role): Promise<void> {
    if (role === PRODUCER && (await this.#backlog()) > BACKLOG_MAX) await this.#workOff()
    if (role === WORKER && (await this.#backlog()) === 0) await this.#overseer.enqueueMany(plain, [1])
    const child = this.#start(role)
    const events = this.#random.integer(0, role.mostEvents)
    const extraMs = this.#random.integer(0, 4)
    await this.#heard(child, role, events)
    // Not a wait for something: the moment of the kill, anywhere between two events.
    await new Promise((resolve) => setTimeout(resolve, extraMs))
    await child.kill()
    this.#children.delete(child)
    this.#note(child)
    this.#killed[role.kind] += 1
    this.#options.onKill?.(this.#kills)
  }

  #start(role: Role): Child {
    const concurrency = this.#random.pick([1, 1, 4, 16])
    const argument = { database: this.#ground.database, concurrency }
    const child = new Child(join(PROGRAMS, `${role.kind}.ts`), argument)
    this.#children.add(child)
    return child
  }

  /** Resolves when it has said it `events` times, or when there is nothing left that it could say it of. */
  async #heard(child: Child, role: Role, events: number): Promise<void> {
    if (events === 0) return
    const said = child.hears(role.event, () => child.all(role.event).length >= events)
    if (role === PRODUCER) return void (await said)
    // The others may have left this worker nothing.
    const dry = new Promise<void>((resolve) => {
      const look = setInterval(async () => {
        if ((await this.#backlog()) === 0) resolve()
      }, 100)
      void child.ended.then(() => clearInterval(look))
    })
    // Killed before it was said: nobody waits for it any more.
    said.catch(() => {})
    await Promise.race([said, dry])
  }

  #note(child: Child): void {
    for (const { ids } of child.all('acknowledged')) for (const id of ids) this.#acknowledged.add(id)
    for (const { message } of child.all('problem')) this.#problems.push(message)
    if (child.errors !== '') this.#problems.push(child.errors)
  }

  async #backlog(): Promise<number> {
    const { scheduled, queued } = await this.#overseer.tasks.counts()
    return scheduled + queued
  }

  async #workOff(): Promise<void> {
    const worker = this.#overseer.work({ concurrency: 50 })
    await worker.drained()
    await worker.stop()
  }

  /** Nobody is killed any more: everything that was acknowledged must come to its end. */
  async bill(): Promise<Damage> {
    const worker = this.#overseer.work({ concurrency: 50 })
    const { failures, quarantined } = await this.#finish()
    await worker.stop()
    const lost: string[] = []
    const unended: string[] = []
    for (const id of this.#acknowledged) {
      const task = await this.#overseer.tasks.get(id)
      if (task === null) lost.push(id)
      else if (task.status !== 'completed') unended.push(`${id}: ${task.status}`)
    }
    const { completed } = await this.#overseer.tasks.counts()
    const { completed: effectsDue } = await this.#overseer.tasks.counts({ name: effect.name })
    return {
      seed: this.#options.seed,
      kills: this.#kills,
      producersKilled: this.#killed.producer,
      workersKilled: this.#killed.worker,
      acknowledged: this.#acknowledged.size,
      lost,
      unended,
      completed,
      quarantined,
      failures,
      effects: (await read(this.#ground, 'SELECT task FROM effects')).length,
      effectsDue,
      problems: this.#problems,
      flaws: await flawsOf(this.#ground),
    }
  }

  /** Waits for every task; a quarantined one gets its second chance, as it would from an operator. */
  async #finish(): Promise<{ failures: string[]; quarantined: number }> {
    const failures: string[] = []
    let quarantined = 0
    const ids = (await read(this.#ground, 'SELECT id FROM gleaner.tasks')).map(String)
    await Promise.all(
      ids.map(async (id) => {
        const handle = this.#overseer.handle(plain, id)
        try {
          await handle.result({ timeout: '60s' })
        } catch (error) {
          if (!(error instanceof TaskFailed && error.kind === 'crash')) {
            failures.push(String(error))
            return
          }
          quarantined += 1
          await this.#overseer.tasks.retry(id)
          await handle.result({ timeout: '60s' }).catch((again) => failures.push(String(again)))
        }
      }),
    )
    return { failures: [...failures, ...(await this.#failedAttempts())], quarantined }
  }

  /** An effect written twice would be an error of its attempt, be the task retried or not. */
  async #failedAttempts(): Promise<string[]> {
    const failed = `SELECT task || ': ' || error FROM gleaner.attempts WHERE outcome = 'error'`
    return (await read(this.#ground, failed)).map(String)
  }

  async tearDown(): Promise<void> {
    await Promise.all([...this.#children].map((child) => child.kill()))
    await this.#overseer.close()
  }
}

/** What is wrong with it; nothing, when every promise was kept. */
export function brokenPromises(damage: Damage): string[] {
  const { lost, unended, failures, problems, flaws, effects, effectsDue } = damage
  return [
    ...lost.map((id) => `acknowledged and lost: ${id}`),
    ...unended.map((task) => `acknowledged and not ended: ${task}`),
    ...failures.map((failure) => `failed: ${failure}`),
    ...problems.map((problem) => `problem: ${problem}`),
    ...flaws,
    ...(effects === effectsDue ? [] : [`${effects} effects of ${effectsDue} tasks`]),
  ]
}

export function summary(damage: Damage): string {
  const { seed, kills, producersKilled, workersKilled, acknowledged, completed, quarantined, effects } =
    damage
  const broken = brokenPromises(damage)
  const ended = acknowledged - damage.lost.length - damage.unended.length
  return (
    `seed ${seed}, ${kills} kills (${producersKilled} of producers, ${workersKilled} of workers): ` +
    `${acknowledged} acknowledged, ${ended} ended; ${completed} completed in all, ${effects} effects, ` +
    `${quarantined} quarantined and retried by hand; ` +
    (broken.length === 0
      ? 'each effect once, counts right, integrity ok'
      : `${broken.length} BROKEN:\n${broken.join('\n')}`)
  )
}
