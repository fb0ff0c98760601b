import { actions } from './actions.ts'
import { attempts } from './attempts.ts'
import { cancelling } from './cancelling.ts'
import { capabilities } from './capabilities.ts'
import { changes } from './changes.ts'
import { changingMany } from './changing-many.ts'
import { checking } from './checking.ts'
import { ordersOfTypes, ordersOfWorkers } from './chosen-orders.ts'
import { claiming } from './claiming.ts'
import { closing } from './closing.ts'
import { comparing } from './comparing.ts'
import { contention } from './contention.ts'
import { counting } from './counting.ts'
import { crashes } from './crashes.ts'
import type { TestDatabase } from './database.ts'
import { delays } from './delays.ts'
import { effects } from './effects.ts'
import { endedSessions } from './ended-sessions.ts'
import { endings } from './endings.ts'
import { enqueueing } from './enqueueing.ts'
import { explaining } from './explaining.ts'
import { fairness } from './fairness.ts'
import { fences } from './fences.ts'
import { filtering } from './filtering.ts'
import { flows } from './flows.ts'
import { givingBack } from './giving-back.ts'
import { healthHistory } from './health-history.ts'
import { heldKeys } from './held-keys.ts'
import { keys } from './keys.ts'
import { limitedKeys } from './limited-keys.ts'
import { limits } from './limits.ts'
import { listing } from './listing.ts'
import { logs } from './logs.ts'
import { managingSchedules } from './managing-schedules.ts'
import { manyLanes } from './many-lanes.ts'
import { metrics } from './metrics.ts'
import { order } from './order.ts'
import { orderKeys } from './order-keys.ts'
import { pausing } from './pausing.ts'
import { pruning } from './pruning.ts'
import { pulling } from './pulling.ts'
import { racingKeys } from './racing-keys.ts'
import { racingLimits } from './racing-limits.ts'
import { rates } from './rates.ts'
import { removing } from './removing.ts'
import { reordering } from './reordering.ts'
import { resources } from './resources.ts'
import { retrying } from './retrying.ts'
import { rowsAltering } from './rows-altering.ts'
import { rowsClaiming } from './rows-claiming.ts'
import { rowsCrashes } from './rows-crashes.ts'
import { rowsEffects } from './rows-effects.ts'
import { rowsKeys } from './rows-keys.ts'
import { rowsLedger } from './rows-ledger.ts'
import { rowsManaging } from './rows-managing.ts'
import { rowsPlanning } from './rows-planning.ts'
import { rowsSettling } from './rows-settling.ts'
import type { Expect, Group, RunTest } from './runner.ts'
import { schedules } from './schedules.ts'
import { sessions } from './sessions.ts'
import { settling } from './settling.ts'
import { rowSteps, steps } from './steps.ts'
import { strategies } from './strategies.ts'
import { supervising } from './supervising.ts'
import { suspendedRows, suspending } from './suspending.ts'
import type { Specify, Theme } from './theme.ts'
import { userTransactions } from './user-transactions.ts'
import { workerReports } from './worker-reports.ts'
import { World } from './world.ts'

export type { MovableClock, TestDatabase } from './database.ts'

export interface ConformanceOptions {
  test: RunTest
  expect: Expect
  /** Without it, the titles carry the name of their group. */
  describe?: Group
  openDatabase(): Promise<TestDatabase>
}

const THEMES: Record<string, Theme> = {
  enqueueing,
  keys,
  'held keys': heldKeys,
  'racing keys': racingKeys,
  'racing limits': racingLimits,
  claiming,
  order,
  strategies,
  'orders of workers': ordersOfWorkers,
  'orders of types': ordersOfTypes,
  reordering,
  fairness,
  capabilities,
  delays,
  settling,
  fences,
  sessions,
  'ended sessions': endedSessions,
  steps,
  suspending,
  flows,
  'giving back': givingBack,
  pulling,
  comparing,
  crashes,
  effects,
  "a user's own transaction": userTransactions,
  cancelling,
  retrying,
  removing,
  pruning,
  checking,
  pausing,
  limits,
  'limited keys': limitedKeys,
  'order keys': orderKeys,
  'many lanes': manyLanes,
  rates,
  counting,
  listing,
  filtering,
  explaining,
  resources,
  'changing many': changingMany,
  logs,
  attempts,
  endings,
  metrics,
  actions,
  supervising,
  'health history': healthHistory,
  'worker reports': workerReports,
  schedules,
  'managing schedules': managingSchedules,
  changes,
  closing,
}

/** Of work found in the user's own tables. */
const ROW_THEMES: Record<string, Theme> = {
  'planning rows': rowsPlanning,
  'altering tables': rowsAltering,
  'keys of rows': rowsKeys,
  'claiming rows': rowsClaiming,
  'settling rows': rowsSettling,
  'effects of rows': rowsEffects,
  'ledger of rows': rowsLedger,
  'crashes with rows': rowsCrashes,
  'steps of rows': rowSteps,
  'suspended rows': suspendedRows,
  'managing rows': rowsManaging,
}

/** What every store promises: one test for each sentence, each on a database of its own. */
export function storeConformance(options: ConformanceOptions): void {
  const { expect, openDatabase } = options
  specifyAll(THEMES, options)
  inGroup(options, 'contention', (test) => contention(onFreshDatabase(test, openDatabase), expect))
}

/** The same of a store that finds rows. */
export function rowConformance(options: ConformanceOptions): void {
  specifyAll(ROW_THEMES, options)
}

function specifyAll(themes: Record<string, Theme>, options: ConformanceOptions): void {
  const { expect, openDatabase } = options
  for (const [subject, theme] of Object.entries(themes)) {
    inGroup(options, subject, (test) => theme(onFreshDatabase(test, openDatabase), expect))
  }
}

function inGroup({ describe, test }: ConformanceOptions, subject: string, define: (test: RunTest) => void) {
  if (describe !== undefined) describe(subject, () => define(test))
  else define((title, run) => test(`${subject}: ${title}`, run))
}

function onFreshDatabase(test: RunTest, openDatabase: () => Promise<TestDatabase>): Specify {
  return (title, scenario) =>
    test(title, async () => {
      const database = await openDatabase()
      try {
        await scenario(new World(database, await database.open()))
      } finally {
        await database.destroy()
      }
    })
}
