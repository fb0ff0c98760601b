import { setImmediate as turn } from 'node:timers/promises'

const RUNS_BETWEEN_TURNS = 100
let runs = 0
let pause: Promise<void> | undefined

/**
 * Some libraries turn synchronous SQLite calls into promises and nothing else: with a handler that does nothing,
 * they never return to the event loop, and no timer (theirs or the benchmark's) would fire. A real handler does
 * that all the time, this one now and then.
 */
export async function letOthersRunNowAndThen(): Promise<void> {
  if (++runs % RUNS_BETWEEN_TURNS === 0) {
    pause = turn().then(() => {
      pause = undefined
    })
  }
  // All handlers under way pause together: a single one of a hundred would not make the loop turn.
  if (pause) await pause
}
