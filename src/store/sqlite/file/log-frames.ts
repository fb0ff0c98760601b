import { fsyncSync, ftruncateSync, readSync, writeSync } from 'node:fs'

// The format is described at https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** Magic numbers: the last bit says whether checksums read words as big-endian. */
const MAGIC = 0x377f0682
const CHUNK_BYTES = 4 * 2 ** 20

/** How much of a log is what was written to it. */
export interface Verified {
  /** Frames from the beginning whose checksums are right. */
  frames: number
  /** Of those, up to the end of the last transaction. */
  committed: number
  /** Where the last of these ends in the file. */
  committedBytes: number
}

/**
 * Reads the first `frames` frames of the log, verifies them, writes the same bytes again, and syncs. After a failed sync the kernel may
 * believe that pages are on the disk that are not, and never write them again; writing makes it do so. Bytes are verified
 * in memory before they are written: what the kernel has forgotten is noticed, not spread.
 *
 * The caller holds the write lock, so that nothing is added to the log and the log does not begin anew.
 */
export function rewriteLog(file: number, frames: number): Verified {
  const header = Buffer.alloc(HEADER_BYTES)
  const none = { frames: 0, committed: 0, committedBytes: 0 }
  if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return none
  const magic = header.readUInt32BE(0)
  if ((magic & ~1) >>> 0 !== MAGIC) return none
  const sum = new Checksum((magic & 1) === 1)
  sum.add(header, 0, 24)
  if (!sum.equals(header, 24)) return none
  writeSync(file, header, 0, HEADER_BYTES, 0)
  const verified = rewriteFrames(file, header, frames, sum)
  fsyncSync(file)
  return verified
}

function rewriteFrames(file: number, header: Buffer, frames: number, sum: Checksum): Verified {
  const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8)
  const salts = header.subarray(16, 24)
  const perChunk = Math.max(1, Math.floor(CHUNK_BYTES / frameBytes))
  const chunk = Buffer.alloc(perChunk * frameBytes)
  const verified = { frames: 0, committed: 0, committedBytes: 0 }
  while (verified.frames < frames) {
    const at = HEADER_BYTES + verified.frames * frameBytes
    const asked = Math.min(perChunk, frames - verified.frames)
    const read = Math.floor(readSync(file, chunk, 0, asked * frameBytes, at) / frameBytes)
    let good = 0
    for (; good < read; good++) {
      const from = good * frameBytes
      if (!chunk.subarray(from + 8, from + 16).equals(salts)) break
      sum.add(chunk, from, from + 8)
      sum.add(chunk, from + FRAME_HEADER_BYTES, from + frameBytes)
      if (!sum.equals(chunk, from + 16)) break
      verified.frames += 1
      // The last frame of a transaction holds the size of the database after it.
      if (chunk.readUInt32BE(from + 4) !== 0) verified.committed = verified.frames
    }
    writeSync(file, chunk, 0, good * frameBytes, at)
    if (good < asked) break
  }
  verified.committedBytes = HEADER_BYTES + verified.committed * frameBytes
  return verified
}

/** What is read behind it fails then, instead of being taken for pages of the database. */
export function cutLog(file: number, { committedBytes }: Verified): void {
  ftruncateSync(file, committedBytes)
  fsyncSync(file)
}

/** The two sums that each frame of a log continues. */
class Checksum {
  readonly #bigEndian: boolean
  #first = 0
  #second = 0

  constructor(bigEndian: boolean) {
    this.#bigEndian = bigEndian
  }

  add(bytes: Buffer, from: number, to: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const littleEndian = !this.#bigEndian
    let [first, second] = [this.#first, this.#second]
    for (let at = from; at < to; at += 8) {
      first = (first + view.getUint32(at, littleEndian) + second) | 0
      second = (second + view.getUint32(at + 4, littleEndian) + first) | 0
    }
    this.#first = first
    this.#second = second
  }

  /** They are stored big-endian, whatever they are computed from. */
  equals(bytes: Buffer, at: number): boolean {
    return bytes.readInt32BE(at) === this.#first && bytes.readInt32BE(at + 4) === this.#second
  }
}
