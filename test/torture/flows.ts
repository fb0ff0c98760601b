import { decideFlow, type OnFailure } from '../../src/model/flow.ts'
import { isFinished } from '../../src/model/task.ts'
import type { Claim } from '../../src/store/ports/exchange.ts'
import type { Claimant } from '../conformance/claimant.ts'
import { newTask, type World } from '../conformance/world.ts'
import { type Random, randomFrom } from './random.ts'

/** What a run does at random, before everything is let go to its end. */
const STEPS = 25
const ROUNDS_MAX = 300
const DEPTH_MAX = 3

interface Run {
  world: World
  random: Random
  worker: Claimant
  /** Every task that it knows, with its depth. */
  depths: Map<string, number>
}

/** Tasks that wait for others, and workers that die between any two writes. Answers the tasks that wait for ever. */
export async function runFlows(world: World, seed: number): Promise<string[]> {
  const random = randomFrom(seed)
  const run: Run = { world, random, worker: await world.worker(), depths: new Map() }
  for (let roots = random.integer(1, 3); roots > 0; roots--) run.depths.set(await world.enqueue(), 0)
  for (let step = 0; step < STEPS; step++) await random.pick(DEEDS)(run)
  await finish(run)
  return unfinished(run)
}

type Deed = (run: Run) => Promise<unknown>

const work: Deed = async (run) => {
  const [claim] = await run.worker.claim(1)
  if (claim === undefined) return
  if (run.random.integer(1, 3) === 1) await spawn(run, claim)
  // Dead between the children and the wait, or in the middle of the work.
  if (run.random.integer(1, 4) === 1) return kill(run)
  return proceed(run, claim)
}

const kill: Deed = async ({ worker, random }) => {
  await worker.end(random.pick(['crash', 'lease', 'stop'] as const))
  await worker.begin()
}

const DEEDS: readonly Deed[] = [
  work,
  work,
  work,
  work,
  kill,
  ({ world }) => world.store.flows.settle(),
  ({ world, random, depths }) => world.store.tasks.cancelTask(random.pick([...depths.keys()])),
  ({ world, random, depths }) => world.store.tasks.retryTask(random.pick([...depths.keys()])),
  ({ world, random, depths }) => world.store.tasks.removeTask(random.pick([...depths.keys()])),
  after,
  batch,
]

async function after({ world, random, depths }: Run): Promise<void> {
  const tasks = [random.pick([...depths.keys()]), random.pick([...depths.keys()])]
  const onFailure = random.pick(['fail', 'cancel', 'run'] as const)
  const waits = { after: { tasks: [...new Set(tasks)], onFailure } }
  // One of them may be gone.
  const id = await world.enqueue(waits).catch(() => null)
  if (id !== null) depths.set(id, 0)
}

async function batch({ world, random }: Run): Promise<void> {
  const tasks = Array.from({ length: random.integer(1, 4) }, () => newTask())
  const concurrency = random.pick([null, 1, 2])
  await world.store.flows.startBatch({
    name: 'batch',
    tasks,
    concurrency,
    onCompleted: newTask(),
    onFailed: newTask(),
  })
}

async function spawn({ world, random, worker, depths }: Run, { id, fence }: Claim): Promise<void> {
  const depth = (depths.get(id) ?? 0) + 1
  if (depth > DEPTH_MAX) return
  const number = (await world.store.flows.flowsOf(id)).filter(({ kind }) => kind === 'children').length + 1
  const tasks = Array.from({ length: random.integer(1, 4) }, () =>
    newTask({ maxAttempts: random.integer(1, 2) }),
  )
  const step = { claim: { id, fence }, name: 'children', number, attempt: 1, startedAt: 0 }
  const onFailure: OnFailure = random.pick(['fail', 'collect'])
  const concurrency = random.pick([null, 1, 2])
  await world.store.flows.spawn(worker.session, { ...step, tasks, concurrency, onFailure })
  for (const task of await world.list({ parent: id })) depths.set(task.id, depth)
}

/** As a handler would: it waits for its children, and ends somehow when they have ended. */
async function proceed({ world, random, worker }: Run, claim: Claim): Promise<void> {
  const flows = await world.store.flows.flowsOf(claim.id)
  const open = flows.find((flow) => flow.kind === 'children' && decideFlow(flow) === 'wait')
  if (open !== undefined) {
    const wait = { kind: 'children', name: open.name, number: open.number, until: null } as const
    await worker.settle(claim, { kind: 'waits', waits: [wait], afterMs: null })
  } else if (random.integer(1, 4) === 1) await worker.fail(claim, random.pick([null, 0]))
  else await worker.complete(claim)
}

/** Everything that can end ends. */
async function finish(run: Run): Promise<void> {
  const { world, worker } = run
  await worker.end('stop')
  await worker.begin()
  for (let round = 0; round < ROUNDS_MAX; round++) {
    while ((await world.store.flows.settle()).more);
    const claims = await worker.claim(20)
    for (const claim of claims) await proceed(run, claim)
    if (claims.length === 0 && !(await hasSuspects(run))) return
  }
}

/** What crashed runs alone. */
async function hasSuspects({ world, worker }: Run): Promise<boolean> {
  const { queued, scheduled } = await world.store.tasks.countTasks({})
  world.clock.advance(60_000)
  await worker.exchange({})
  return queued + scheduled > 0
}

async function unfinished({ world }: Run): Promise<string[]> {
  const tasks = await world.list({}, 200)
  return tasks.filter(({ status }) => !isFinished(status)).map(({ id, status }) => `${id} ${status}`)
}
