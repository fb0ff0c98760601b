import { readFileSync } from 'node:fs'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/** How many transactions are in the log: the last frame of each carries the size of the database after it. */
export function commitsInLog(path: string): number {
  const log = readFileSync(`${path}-wal`)
  const pageSize = log.readUInt32BE(8)
  const salts = log.subarray(16, 24)
  let commits = 0
  for (
    let at = HEADER_BYTES;
    at + FRAME_HEADER_BYTES + pageSize <= log.length;
    at += FRAME_HEADER_BYTES + pageSize
  ) {
    // Frames of an older round of the log have other salts.
    if (!log.subarray(at + 8, at + 16).equals(salts)) break
    if (log.readUInt32BE(at + 4) !== 0) commits += 1
  }
  return commits
}
