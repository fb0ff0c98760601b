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
  /** Of the database after that transaction. */
  pages: number
}

/**
 * Reads the first `frames` frames of the log, verifies them, writes the same bytes again, and syncs. After a failed sync the kernel may
 * believe that pages are on the disk that are not, and never write them again; writing makes it do so. Bytes are verified
 * in memory before they are written: what the kernel has forgotten is noticed, not spread.
 *
 * The caller holds the write lock, so that nothing is added to the log and the log does not begin anew.
 */
export function rewriteLog(file: number, frames: number): Verified {
  const header = readHeader(file)
  if (header === null) return { frames: 0, committed: 0, committedBytes: 0, pages: 0 }
  writeSync(file, header.bytes, 0, HEADER_BYTES, 0)
  const verified = readFrames(file, header, frames, ({ bytes, at }) =>
    writeSync(file, bytes, 0, bytes.length, at),
  )
  fsyncSync(file)
  return verified
}

/** Where the newest content of each page of the database is in the log. */
export interface NewestPages {
  places: ReadonlyMap<number, number>
  pageBytes: number
}

/** Null: not all of these frames are what was written to the log. */
export function newestPages(file: number, frames: number): NewestPages | null {
  const header = readHeader(file)
  if (header === null) return null
  const places = new Map<number, number>()
  const verified = readFrames(file, header, frames, ({ bytes, at }) => {
    for (let from = 0; from < bytes.length; from += header.frameBytes)
      places.set(bytes.readUInt32BE(from), at + from + FRAME_HEADER_BYTES)
  })
  if (verified.committed < frames) return null
  for (const page of places.keys()) if (page > verified.pages) places.delete(page)
  return { places, pageBytes: header.frameBytes - FRAME_HEADER_BYTES }
}

interface Header {
  bytes: Buffer
  frameBytes: number
  /** Of the header: frames continue it. */
  sum: Checksum
}

/** Null: it is not the header of a log. */
function readHeader(file: number): Header | null {
  const bytes = Buffer.alloc(HEADER_BYTES)
  if (readSync(file, bytes, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null
  const magic = bytes.readUInt32BE(0)
  if ((magic & ~1) >>> 0 !== MAGIC) return null
  const sum = new Checksum((magic & 1) === 1)
  sum.add(bytes, 0, 24)
  if (!sum.equals(bytes, 24)) return null
  return { bytes, frameBytes: FRAME_HEADER_BYTES + bytes.readUInt32BE(8), sum }
}

/** Whole frames that were verified, and their place in the file. */
interface Chunk {
  bytes: Buffer
  at: number
}

function readFrames(
  file: number,
  { bytes: header, frameBytes, sum }: Header,
  frames: number,
  onVerified: (chunk: Chunk) => void,
): Verified {
  const salts = header.subarray(16, 24)
  const perChunk = Math.max(1, Math.floor(CHUNK_BYTES / frameBytes))
  const chunk = Buffer.alloc(perChunk * frameBytes)
  const verified = { frames: 0, committed: 0, committedBytes: 0, pages: 0 }
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
      const pages = chunk.readUInt32BE(from + 4)
      if (pages !== 0) Object.assign(verified, { committed: verified.frames, pages })
    }
    onVerified({ bytes: chunk.subarray(0, good * frameBytes), at })
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
