import type { Level } from '../../model/level.ts'

/** How many there are now, and how many there were. */
export interface Levels {
  /** A process counted the rows of a discovery that are not done. The count is stored if it has changed. */
  noteRowsLeft(discovery: string, left: number): Promise<void>
  /** In order: those within this time, and the last one before it. Of a discovery, or with null of tasks. */
  readLevels(discovery: string | null, windowMs: number): Promise<Level[]>
}
