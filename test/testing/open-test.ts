import { test as plain } from 'vitest'
import { openTestGleaner, type TestGleaner, type TestGleanerOptions } from '../../src/testing/index.ts'

type Open = (options?: TestGleanerOptions) => Promise<TestGleaner>

/** `open` opens test engines that are closed when the test is over. */
export const test = plain.extend<{ open: Open }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs from here
  open: async ({}, use) => {
    const opened: TestGleaner[] = []
    await use(async (options) => {
      const t = await openTestGleaner(options)
      opened.push(t)
      return t
    })
    await Promise.all(opened.map((t) => t.close()))
  },
})

/** Milliseconds since the engine was opened. */
export function stopwatch(t: TestGleaner): () => number {
  const startedAt = t.now()
  return () => t.now() - startedAt
}
