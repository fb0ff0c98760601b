/** Where the engine gets its time from, so that a test can move it. */
export interface Clock {
  /** Wall time in milliseconds: what is stored. */
  now(): number
  /** Never goes back, whatever happens to the wall clock: what durations are measured with. */
  monotonicMs(): number
  /** Calls `fn` once after `ms`; the answer cancels it. */
  after(ms: number, fn: () => void): () => void
  /** The same, but it does not keep the process alive. */
  afterIfAlive(ms: number, fn: () => void): () => void
}

/** `setTimeout` overflows beyond this and would fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.min(Math.max(0, ms), TIMER_MAX_MS))
    return () => clearTimeout(timer)
  },
  afterIfAlive(ms, fn) {
    const timer = setTimeout(fn, Math.min(Math.max(0, ms), TIMER_MAX_MS)).unref()
    return () => clearTimeout(timer)
  },
}
