/** The two files of a database whose bytes matter after a power cut. */
export const FILES = ['app.db', 'app.db-wal'] as const

/** What a process did to a file, in the order of all processes; or a mark that it made. */
export type Entry =
  | { kind: 'write'; file: number; at: number; bytes: Buffer }
  | { kind: 'truncate'; file: number; length: number }
  | { kind: 'synced' | 'failed'; file: number }
  | { kind: 'mark'; text: string }

const HEADER_BYTES = 24
const WRITE = 1
const TRUNCATE = 2
const SYNCED = 3
const FAILED = 4
const MARK = 5

/** See `struct record` in power.c. */
export function readRecords(bytes: Buffer): Entry[] {
  const entries: Entry[] = []
  for (let at = 0; at < bytes.length; ) {
    const [kind, file] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)]
    const [place, length] = [Number(bytes.readBigUInt64LE(at + 8)), Number(bytes.readBigUInt64LE(at + 16))]
    const payload = bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length)
    at += HEADER_BYTES + length
    if (kind === WRITE) entries.push({ kind: 'write', file, at: place, bytes: payload })
    else if (kind === TRUNCATE) entries.push({ kind: 'truncate', file, length: place })
    else if (kind === SYNCED) entries.push({ kind: 'synced', file })
    else if (kind === FAILED) entries.push({ kind: 'failed', file })
    else if (kind === MARK) entries.push({ kind: 'mark', text: payload.toString() })
    else throw new Error(`records: unknown kind ${kind} at byte ${at}`)
  }
  return entries
}
