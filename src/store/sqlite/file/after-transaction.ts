/** Most transactions are over before the event loop turns. Others may wait for a network. */
const LOOK_MS = [0, 1, 2, 5, 10, 20, 50] as const
const GIVE_UP_MS = 60_000

const waiting = new Map<{ inTransaction: boolean }, Set<() => void>>()

/**
 * Calls `then` when the transaction of this connection is over, whether it was committed or not. SQLite does not tell, so we look. A
 * process that ends right after its commit looks once more.
 */
export function whenOver(connection: { inTransaction: boolean }, then: () => void): void {
  const already = waiting.get(connection)
  if (already !== undefined) return void already.add(then)
  if (waiting.size === 0) process.on('exit', lookAtAll)
  waiting.set(connection, new Set([then]))
  const sinceMs = performance.now()
  const look = (times: number): void => {
    if (!waiting.has(connection) || lookAt(connection)) return
    if (performance.now() - sinceMs > GIVE_UP_MS) return forget(connection)
    setTimeout(() => look(times + 1), LOOK_MS[Math.min(times, LOOK_MS.length - 1)]).unref()
  }
  setImmediate(() => look(1))
}

function lookAtAll(): void {
  for (const connection of [...waiting.keys()]) lookAt(connection)
}

function lookAt(connection: { inTransaction: boolean }): boolean {
  if (isIn(connection)) return false
  const told = waiting.get(connection)!
  forget(connection)
  for (const then of told) then()
  return true
}

/** `node:sqlite` throws once the connection is closed, which ends its transaction. */
function isIn(connection: { inTransaction: boolean }): boolean {
  try {
    return connection.inTransaction
  } catch {
    return false
  }
}

function forget(connection: { inTransaction: boolean }): void {
  waiting.delete(connection)
  if (waiting.size === 0) process.off('exit', lookAtAll)
}
