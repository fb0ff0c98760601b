/** Who asks while it is being counted gets the same answer. */
export function aside<T>(
  underWay: Map<string, Promise<T>>,
  name: string,
  count: () => Promise<T>,
): Promise<T> {
  const before = underWay.get(name)
  if (before !== undefined) return before
  const counting = count().finally(() => underWay.delete(name))
  underWay.set(name, counting)
  return counting
}
