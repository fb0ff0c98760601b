export interface Deferred<T> {
  promise: Promise<T>
  resolve: (value: T) => void
}

/** A promise that somebody else resolves. */
export function deferred<T = void>(): Deferred<T> {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { promise, resolve }
}
