import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from '../../../errors.ts'
import { openDescriptors } from '../drivers/descriptors.ts'

/** Without being asked for certainty, the files are looked at that often at most. */
const LOOK_EVERY_MS = 100
/** A folder that changed so short a time ago may change again without a new time stamp: the kernel's clock ticks every 1 to 10 ms. */
const TICK_MS = 50

const PARTS = ['', '-wal', '-shm'] as const

type Part = (typeof PARTS)[number]

/**
 * The database, its log and its shared memory, as they were opened. Another program may remove or replace them, and SQLite
 * would go on writing to files that have no name any more.
 *
 * Removing or renaming a file changes the time stamp of its folder, so that one look is enough while nothing happens.
 */
export class OpenFiles {
  readonly #path: string
  readonly #folder: string
  readonly #opened: ReadonlyMap<Part, Stats>
  #folderTime = Number.NaN
  #nextLookMs = Number.NEGATIVE_INFINITY
  #nextFullLookMs = Number.NEGATIVE_INFINITY

  /** @param path absolute, behind all symbolic links: there SQLite keeps the log. */
  constructor(path: string) {
    this.#path = path
    this.#folder = dirname(path)
    this.#opened = new Map(PARTS.map((part) => [part, statSync(path + part)]))
    this.#mustBeOpen()
  }

  /** Between SQLite's opening and our look they may have been replaced. Only Linux lets us see what is open. */
  #mustBeOpen(): void {
    const open = openDescriptors()
    if (open === null) return
    const missing = PARTS.find((part) => !open.some((file) => isSame(file, this.#opened.get(part))))
    if (missing !== undefined) throw filesMoved(this.#path + missing)
  }

  /** Null: all are in place. `certain`: as of now, not of a moment ago. */
  moved(certain: boolean): Moved | null {
    const nowMs = performance.now()
    if (!certain && nowMs < this.#nextLookMs) return null
    this.#nextLookMs = nowMs + LOOK_EVERY_MS
    const time = statSync(this.#folder, { throwIfNoEntry: false })?.mtimeMs ?? Number.NaN
    if (time === this.#folderTime && nowMs < this.#nextFullLookMs) return null
    // Without a time stamp to rely on, the next look is a full one as well.
    this.#folderTime = Date.now() - time > TICK_MS ? time : Number.NaN
    this.#nextFullLookMs = nowMs + LOOK_EVERY_MS
    return this.#look()
  }

  #look(): Moved | null {
    const found = PARTS.map((part) => statSync(this.#path + part, { throwIfNoEntry: false }))
    const moved = PARTS.filter((part, index) => !isSame(found[index], this.#opened.get(part)))
    if (moved.length === 0) return null
    // Only with the shared memory in place is it certain that nobody has opened the database without the log.
    const onlyLogIsGone = moved.length === 1 && moved[0] === '-wal' && found[1] === undefined
    return { file: this.#path + moved[0], onlyLogIsGone }
  }
}

export interface Moved {
  file: string
  onlyLogIsGone: boolean
}

function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev
}

/** What is written now would be found by no process that opens the database later. */
export function filesMoved(file: string, { isSaved = false } = {}): StoreError {
  const saved = isSaved ? '. All that was committed is in the database file' : ''
  return new StoreError(
    `another program removed or replaced ${file} while this process had it open${saved}`,
    {
      code: 'STORE_MOVED',
      hint: 'Nothing more is acknowledged here. Stop every process that has this database open, then start them again. The files -wal and -shm are parts of the database; to replace it, use gleaner restore, which refuses while it is in use.',
    },
  )
}
