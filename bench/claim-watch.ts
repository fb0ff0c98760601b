import pg from 'pg'

/**
 * Times every claim of whoever runs in this process, at the driver that all of them use: a statement that skips locked
 * rows and answers some. The list grows while they work.
 */
export function watchClaims(): number[] {
  const claimsMs: number[] = []
  const query = pg.Client.prototype.query as (...args: any[]) => any
  const note = (startedMs: number, result: pg.QueryResult | undefined) => {
    if (result !== undefined && result.rows?.length > 0) claimsMs.push(performance.now() - startedMs)
  }

  pg.Client.prototype.query = function watched(this: pg.Client, ...args: any[]) {
    if (!skipsLocked(args[0])) return query.apply(this, args)
    const startedMs = performance.now()
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      args[args.length - 1] = (error: Error | null, result: pg.QueryResult | undefined) => {
        note(startedMs, result)
        callback(error, result)
      }
      return query.apply(this, args)
    }
    const answer = query.apply(this, args)
    answer.then(
      (result: pg.QueryResult) => note(startedMs, result),
      () => {},
    )
    return answer
  }
  return claimsMs
}

function skipsLocked(statement: string | { text?: string }): boolean {
  const text = typeof statement === 'string' ? statement : (statement.text ?? '')
  return /skip locked/i.test(text)
}
