/** What the suite needs of a test runner. Those of vitest, Jest and Bun fit; nothing is imported from them. */

export type RunTest = (title: string, run: () => Promise<void>, timeoutMs?: number) => unknown
export type Group = (title: string, define: () => void) => unknown
export type Expect = (value: unknown, message?: string) => Matchers

interface Matchers {
  not: Matchers
  rejects: AsyncMatchers
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
  toHaveLength(length: number): void
  toContain(item: unknown): void
  toBeGreaterThan(least: number): void
  toBeGreaterThanOrEqual(least: number): void
  toBeLessThanOrEqual(most: number): void
}

interface AsyncMatchers {
  toMatchObject(expected: object): Promise<void>
  toBe(expected: unknown): Promise<void>
}
