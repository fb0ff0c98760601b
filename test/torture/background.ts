/**
 * A timer that the process does not stay alive for belongs to the background: sums, metrics, beats, notifications. No operation
 * waits for one, so which steps an operation consists of depends on no clock if none of them fires meanwhile.
 *
 * Holds them, from now on, whenever `isHeld` says so. A timer that became due fires later.
 */
export function holdBackground(isHeld: () => boolean): void {
  const start = { setTimeout, setInterval }
  const mustWait = (timer: NodeJS.Timeout) => isHeld() && !timer.hasRef()
  function later(
    callback: (...values: unknown[]) => void,
    ms?: number,
    ...values: unknown[]
  ): NodeJS.Timeout {
    const timer = start.setTimeout(() => (mustWait(timer) ? timer.refresh() : callback(...values)), ms)
    return timer
  }
  function often(
    callback: (...values: unknown[]) => void,
    ms?: number,
    ...values: unknown[]
  ): NodeJS.Timeout {
    const timer = start.setInterval(() => (mustWait(timer) ? undefined : callback(...values)), ms)
    return timer
  }
  Object.defineProperties(later, Object.getOwnPropertyDescriptors(start.setTimeout))
  Object.assign(globalThis, { setTimeout: later, setInterval: often })
}
