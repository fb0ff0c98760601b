import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Mounting takes root. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0

/** A file system of its own with little room, that can be filled and emptied. */
export class SmallDisk {
  readonly folder = mkdtempSync(join(tmpdir(), 'gleaner-disk-'))
  readonly #ballast = join(this.folder, 'ballast')

  constructor(megabytes: number) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', this.folder])
    chmodSync(this.folder, 0o777)
  }

  /** To the last byte; again, for what became free in the meantime. */
  fill(): void {
    const file = openSync(this.#ballast, 'a')
    try {
      for (let size = 2 ** 20; size >= 1; size = Math.floor(size / 16))
        writeUntilFull(file, Buffer.alloc(size))
    } finally {
      closeSync(file)
    }
  }

  empty(): void {
    rmSync(this.#ballast, { force: true })
  }

  remove(): void {
    execFileSync('umount', ['-l', this.folder])
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function writeUntilFull(file: number, bytes: Buffer): void {
  try {
    while (writeSync(file, bytes) === bytes.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}
