import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Child } from '../journeys/child.ts'
import { BOTH } from '../torture/ground/both.ts'
import { until } from '../until.ts'
import { Crowd } from './crowd.ts'
import { ask } from './server.ts'

const TORTURE = process.env.GLEANER_TORTURE === '1'
/** With a crowd and without one in turn: what else the machine does disturbs both. */
const ROUNDS = TORTURE ? 10 : 1
const TASKS = TORTURE ? 20_000 : 1_500
const CLIENTS = 200
const STUCK = 20
const MEMORY_MAX = 100 * 1024 * 1024

interface Round {
  ms: number
  cpuMs: number
}

describe.each(TORTURE ? BOTH : BOTH.slice(0, 1))('on %s', (database, openGround) => {
  test('200 clients, 20 of them stuck, hear of the end of many tasks, slow nobody down and cost little memory', async () => {
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    const start = (program: string) => {
      const child = new Child(join(import.meta.dirname, 'programs', program), { database: ground.database })
      onTestFinished(async () => void (await child.kill()))
      return child
    }
    const server = start('crowd-server.ts')
    const { url } = (await server.hears('serving')) as unknown as { url: string }
    const worker = start('crowd-worker.ts')
    await worker.hears('ready')
    // Its clients would be on other machines: what they themselves need is not what they cost.
    if (TORTURE) setPriority(process.pid, constants.priority.PRIORITY_LOW)
    const work = async (): Promise<Round> => {
      worker.tell('work', { tasks: TASKS })
      return (await worker.next('worked')) as unknown as Round
    }
    const memory = async () => {
      server.tell('measure')
      return (await server.next('memory')) as unknown as { now: number; highest: number }
    }
    const clients = async () =>
      Number(/gleaner_event_clients (\d+)/.exec((await ask(url, '/metrics')).body)![1])

    // What is compiled and opened the first time is nobody's burden.
    await work()
    const before = await memory()
    const alone: Round[] = []
    const watched: Round[] = []
    let highest = 0
    for (let round = 0; round < ROUNDS; round++) {
      if (round % 2 === 0) alone.push(await work())
      const crowd = await Crowd.join(url, CLIENTS, STUCK)
      await until('all are served', async () => (await clients()) === CLIENTS)
      await memory()
      watched.push(await work())
      const completed = TASKS * (1 + alone.length + watched.length)
      await crowd.hears(`"completed":${completed}`)
      highest = Math.max(highest, (await memory()).highest)
      await crowd.leave()
      await until('all are forgotten', async () => (await clients()) === 0)
      // In another order every second time: who comes later may have it easier.
      if (round % 2 === 1) alone.push(await work())
    }
    expect(highest - before.now).toBeLessThan(MEMORY_MAX)
    if (!TORTURE) return
    const throughput = middle(alone, 'ms') / middle(watched, 'ms')
    console.log(
      `${database}: ${ROUNDS * TASKS} completions with a crowd at ${(100 * throughput).toFixed(0)} % of the throughput without ` +
        `(median round ${middle(alone, 'ms').toFixed(0)} and ${middle(watched, 'ms').toFixed(0)} ms, of the worker's processor ` +
        `${middle(alone, 'cpuMs').toFixed(0)} and ${middle(watched, 'cpuMs').toFixed(0)} ms), ` +
        `server ${((highest - before.now) / 2 ** 20).toFixed(0)} MB more`,
    )
    expect(throughput).toBeGreaterThanOrEqual(0.9)
  }, 900_000)
})

function middle(rounds: readonly Round[], what: keyof Round): number {
  const sorted = rounds.map((round) => round[what]).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}
