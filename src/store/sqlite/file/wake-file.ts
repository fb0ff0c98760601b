import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'

/** What a commit may bring for other processes. Each has its place in the file. */
export const SIGNALS = ['work', 'cancel', 'schedules'] as const
export type Signal = (typeof SIGNALS)[number]

const PLACE_BYTES = 8
/** A link that another user left in the place of the file would have us write elsewhere. */
const OPEN = constants.O_RDWR | constants.O_NOFOLLOW
const CREATE = OPEN | constants.O_CREAT | constants.O_EXCL

/**
 * A small file beside the database. A store that commits something for other processes writes a new number into the place of its
 * signal, and processes that watch the file see it at once. Commits that bring nothing for others do not touch it, so they wake no
 * process. The file exists only while processes watch it. Nothing is lost with it but time.
 */
export class WakeFile {
  readonly path: string
  readonly #database: string
  readonly #bytes = Buffer.alloc(SIGNALS.length * PLACE_BYTES)
  #descriptor: number | null = null

  /** @param database its path */
  constructor(database: string) {
    this.#database = database
    this.path = `${database}-wake`
  }

  /** For those who watch it. Nothing happens if it exists. */
  create(): void {
    const mode = statSync(this.#database).mode & 0o777
    try {
      const descriptor = openSync(this.path, CREATE, mode)
      // Without this the umask would narrow the mode.
      fchmodSync(descriptor, mode)
      closeSync(descriptor)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }

  /** Answers the number, which was not there before. */
  ring(signal: Signal): number {
    const number = Math.random()
    const at = SIGNALS.indexOf(signal) * PLACE_BYTES
    this.#bytes.writeDoubleLE(number, at)
    try {
      writeSync(this.#open(), this.#bytes, at, PLACE_BYTES, at)
    } catch {
      // Nobody watches it, or it cannot be written: the workers look by themselves.
      this.close()
    }
    return number
  }

  /** The numbers as they stand, in the order of the signals. */
  read(): number[] {
    this.#bytes.fill(0)
    try {
      readSync(this.#open(), this.#bytes, 0, this.#bytes.length, 0)
    } catch {
      this.close()
    }
    return SIGNALS.map((_, place) => this.#bytes.readDoubleLE(place * PLACE_BYTES))
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor)
    this.#descriptor = null
  }

  /** When nobody has the database open any more. A process that opens it just now notices, and creates the file again. */
  remove(): void {
    this.close()
    rmSync(this.path, { force: true })
  }

  /** Another program may have removed the file, and a third one created it again. */
  #open(): number {
    if (this.#descriptor !== null && fstatSync(this.#descriptor).nlink === 0) this.close()
    this.#descriptor ??= openSync(this.path, OPEN)
    return this.#descriptor
  }
}
