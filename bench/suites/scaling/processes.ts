import type { ContenderName } from '../../contenders/contender.ts'
import { drainOf, ERRORS, LEAST_SHARE } from '../../scenarios/drain.ts'
import { PER_SECOND, type Scenario, type Target } from '../../scenarios/scenario.ts'
import { OWN, shown } from '../peers.ts'

const COUNTS = [1, 2, 4, 8, 16, 32] as const
const BATCHED = 'postgres/graphile-worker-batched'
const CONTENDERS: readonly ContenderName[] = [...OWN, BATCHED]

const TASKS = 60_000
const WAITING = { waitMs: 10 }
const CONCURRENCY = 10

export const noopProcesses: Scenario = {
  id: 'processes',
  title: 'No-op tasks, drained by 1 to 32 processes',
  meaning: `${TASKS.toLocaleString('en')} waiting tasks, processes that start together, on one machine.`,
  metrics: [PER_SECOND, LEAST_SHARE, ERRORS],
  entries: (bench) =>
    entriesOf((contender, processes) => drainOf(bench, { contender }, { processes, tasks: TASKS })),
  targets: targets(),
}

export const waitingProcesses: Scenario = {
  id: 'processes-10ms',
  title: 'Handlers that wait 10 ms, in 1 to 32 processes',
  meaning: `Concurrency ${CONCURRENCY} in each process, so one could do ${(CONCURRENCY * 1000) / WAITING.waitMs} tasks a second at best.`,
  metrics: [PER_SECOND, LEAST_SHARE, ERRORS],
  entries: (bench) =>
    entriesOf((contender, processes) =>
      drainOf(
        bench,
        { contender },
        { processes, tasks: waitingTasks(processes), handler: WAITING, concurrency: CONCURRENCY },
      ),
    ),
  targets: targets(),
}

function entriesOf(measure: (contender: ContenderName, processes: number) => ReturnType<typeof drainOf>) {
  return COUNTS.flatMap((processes) =>
    CONTENDERS.map((contender) => ({
      label: label(contender, processes),
      contender,
      measure: () => measure(contender, processes),
    })),
  )
}

function targets(): Target[] {
  const few = (contender: ContenderName) => [1, 2, 4].map((processes) => label(contender, processes))
  return [
    share('postgres/gleaner', 16, few('postgres/gleaner'), 0.7),
    share('sqlite/gleaner', 32, few('sqlite/gleaner'), 0.5),
    ...COUNTS.map(
      (processes): Target => ({
        level: 'reach',
        text: `PostgreSQL, ${processes} processes: ahead of ${shown(BATCHED)}`,
        entry: label('postgres/gleaner', processes),
        metric: PER_SECOND.key,
        relativeTo: label(BATCHED, processes),
        atLeast: 1,
      }),
    ),
  ]
}

function share(contender: ContenderName, processes: number, relativeTo: string[], atLeast: number): Target {
  return {
    level: 'reach',
    text: `${shown(contender)}, ${processes} processes: ≥ ${atLeast} × the best of 1 to 4`,
    entry: label(contender, processes),
    metric: PER_SECOND.key,
    relativeTo,
    atLeast,
  }
}

/** Two seconds of each process, up to what two cores can do in some ten. */
function waitingTasks(processes: number): number {
  return Math.min(processes * 1_800, 30_000)
}

function label(contender: ContenderName, processes: number): string {
  return `${shown(contender)} × ${processes}`
}
