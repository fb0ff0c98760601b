import { Worker as Thread } from 'node:worker_threads'
import { StoreError } from '../../errors.ts'
import type { RenewalPlan } from '../../store/ports/renewal.ts'
import type { FromKeeper, Renewing, ToKeeper } from './renewing.ts'

/** Node strips no types inside node_modules: as a package we are JavaScript, in the checkout TypeScript. */
const THREAD = new URL(`./keeper-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** It does one small thing now and then: memory is not what it needs. */
export const KEEPER_MEMORY = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 } as const

/** A thread that runs `keepRenewing`. */
export type StartKeeper = (renewing: Renewing) => Thread

const startKeeper: StartKeeper = (renewing) =>
  new Thread(THREAD, { workerData: renewing, execArgv: [], resourceLimits: KEEPER_MEMORY })

/** Keeps the sessions of this process alive, from a thread of its own. */
export class Keeper {
  readonly #plan: RenewalPlan | null
  readonly #leaseMs: number
  readonly #onProblem: (message: string, error: unknown) => void
  readonly #startThread: StartKeeper
  readonly #held = new Map<string, () => void>()
  readonly #cutOff = new Set<string>()
  #thread: Thread | undefined

  constructor(
    plan: RenewalPlan | null,
    leaseMs: number,
    onProblem: (message: string, error: unknown) => void,
    startThread: StartKeeper = startKeeper,
  ) {
    this.#startThread = startThread
    this.#onProblem = onProblem
    this.#plan = plan
    this.#leaseMs = leaseMs
  }

  /** `onLost` is called when somebody ended the session: everything it held may be in other hands. */
  hold(session: string, onLost: () => void): void {
    if (this.#plan === null) return
    this.#held.set(session, onLost)
    this.#thread ??= this.#start(this.#plan)
    this.#tell({ hold: session })
  }

  /** Its worker asked the store. While that cannot be reached from there, the session is not renewed: others may work. */
  exchanged(session: string, error?: unknown): void {
    const isAway = error instanceof StoreError && error.code === 'STORE_AWAY'
    if (isAway === this.#cutOff.has(session) || !this.#held.has(session)) return
    if (isAway) this.#cutOff.add(session)
    else this.#cutOff.delete(session)
    this.#tell(isAway ? { cutOff: session } : { reached: session })
  }

  release(session: string): void {
    this.#cutOff.delete(session)
    if (this.#held.delete(session)) this.#tell({ release: session })
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    if (thread === undefined) return
    const exited = new Promise((resolve) => thread.once('exit', resolve))
    thread.ref()
    thread.postMessage({ close: true } satisfies ToKeeper)
    await exited
  }

  #start(plan: RenewalPlan): Thread {
    const thread = this.#startThread({ plan, leaseMs: this.#leaseMs })
    thread.unref()
    thread.on('message', (message: FromKeeper) => {
      if ('lost' in message) this.#lose(message.lost)
      else if ('failed' in message) this.#onProblem('the keeper could not renew the sessions', message.failed)
    })
    // It must not die quietly: a new one takes over what it held.
    thread.on('error', (error) => {
      this.#onProblem('the keeper had to be restarted', error)
      if (this.#thread !== thread) return
      this.#thread = this.#start(plan)
      for (const session of this.#held.keys()) this.#tell({ hold: session })
      for (const session of this.#cutOff) this.#tell({ cutOff: session })
    })
    return thread
  }

  #lose(session: string): void {
    const onLost = this.#held.get(session)
    this.#held.delete(session)
    onLost?.()
  }

  #tell(message: ToKeeper): void {
    this.#thread?.postMessage(message)
  }
}
