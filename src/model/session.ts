import { cancelled, decide, type Held, returned, type Transition } from './outcome.ts'

/** Why a session ended. `lease`: the worker stopped renewing it, for an unknown reason. */
export type EndCause = 'crash' | 'stop' | 'lease'

/** What the process that ends a session knows of it. */
export interface EndKnowledge {
  /** As it was when it was judged: renewed since, it lives. */
  renewals?: number
  /** Of a crash: by which signal or code its process ended, and how large it was. For people. */
  signature?: string
}

/** Crashes of one item before it is put aside. */
export const CRASH_LIMIT = 3

/** A worker that crashes on this many different items in a row is itself broken. */
export const BROKEN_WORKER_CRASHES = 5

export interface GiveBack {
  transitions: Map<string, Transition>
  /** The one item this crash is charged to. */
  blamed: string | null
  /** Items charged by earlier crashes in this row, whose charge is taken back. */
  forgiven: string[]
  /** The worker crashes on everything: it is broken, not the items. */
  workerBroken: boolean
}

interface CrashFacts extends Pick<EndKnowledge, 'signature'> {
  /** The items its worker's last sessions crashed on, newest first, up to the last session that ended otherwise or had completed anything. */
  blamedBefore?: readonly string[]
}

/** What happens to everything a session held when it ends. */
export function giveBack(cause: EndCause, held: readonly Held[], facts: CrashFacts = {}): GiveBack {
  switch (cause) {
    case 'stop':
      return uncharged(held, (task) => decide(task, { kind: 'returned' }))
    case 'lease':
      return uncharged(held, afterLostLease)
    case 'crash':
      return afterCrash(held, facts)
  }
}

function uncharged(held: readonly Held[], decideOne: (task: Held) => Transition): GiveBack {
  const transitions = new Map(held.map((task) => [task.id, decideOne(task)]))
  return { transitions, blamed: null, forgiven: [], workerBroken: false }
}

/** Fate unknown: the handler may have done its work, so the attempt counts, but there was no crash. */
function afterLostLease(task: Held): Transition {
  if (task.cancelRequested) return cancelled(task)
  if (!task.started) return returned(task, null)
  const failure = {
    kind: 'error',
    message: 'the worker lost its lease during this attempt',
    stack: null,
  } as const
  if (task.attempts >= task.maxAttempts) {
    return { to: 'failed', failure, outcome: 'lease', crashes: task.crashes }
  }
  const { attempts } = task
  return { ...returned(task, 'lease'), attempts, failure }
}

function afterCrash(held: readonly Held[], { blamedBefore = [], signature }: CrashFacts): GiveBack {
  const [only, another] = held
  if (only === undefined || another !== undefined) return uncharged(held, suspected)
  if (!only.started) return uncharged(held, (task) => decide(task, { kind: 'returned' }))

  const row = [only.id, ...blamedBefore].slice(0, BROKEN_WORKER_CRASHES)
  const workerBroken = row.length === BROKEN_WORKER_CRASHES && new Set(row).size === BROKEN_WORKER_CRASHES
  if (workerBroken) return { ...uncharged(held, suspected), forgiven: [...blamedBefore], workerBroken }
  return { ...uncharged(held, (task) => charged(task, signature)), blamed: only.id }
}

/**
 * Several were in a worker's hands, any may be the one. All keep their attempt and are run alone next, so
 * that another crash has one culprit. Those that look unstarted are included: a start is written down a
 * moment after it happens.
 */
function suspected(task: Held): Transition {
  if (task.cancelRequested) return cancelled(task)
  return { ...returned(task, task.started ? 'crash' : null), suspect: true }
}

function charged(task: Held, signature: string | undefined): Transition {
  if (task.cancelRequested) return cancelled(task)
  const { crashLimit = CRASH_LIMIT } = task
  const crashes = task.crashes + 1
  const failure = {
    kind: 'crash',
    message: `the worker died while running it (${crashes} of ${crashLimit} crashes)${signature === undefined ? '' : `: ${signature}`}`,
    stack: null,
  } as const
  if (crashes >= crashLimit || task.attempts >= task.maxAttempts) {
    return { to: 'failed', failure, outcome: 'crash', crashes }
  }
  const { attempts } = task
  return { ...returned(task, 'crash'), attempts, crashes, suspect: true, failure }
}
