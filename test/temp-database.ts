import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Gleaner, type GleanerOptions, openGleaner } from '../src/index.ts'

/** A database file of its own, gone when the test is over. */
export function tempDatabase(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'test.db')
}

/** An engine on a database of its own, closed when the test is over. */
export async function openTemp(
  options: Omit<GleanerOptions, 'database'> & { path?: string },
): Promise<Gleaner> {
  const { path = tempDatabase(), ...rest } = options
  const gleaner = await openGleaner({ database: `sqlite:${path}`, ...rest })
  onTestFinished(() => gleaner.close())
  return gleaner
}
