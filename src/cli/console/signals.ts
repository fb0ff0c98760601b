const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** `onFirst` at the first signal, `onSecond` at the next one. The answer lets the signals do again what they do. */
export function onSignals(onFirst: (signal: string) => void, onSecond: () => void): () => void {
  let isFirst = true
  const listen = (signal: string) => {
    if (!isFirst) return onSecond()
    isFirst = false
    onFirst(signal)
  }
  for (const signal of SIGNALS) process.on(signal, listen)
  return () => {
    for (const signal of SIGNALS) process.off(signal, listen)
  }
}
