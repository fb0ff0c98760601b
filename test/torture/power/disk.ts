import type { Random } from '../random.ts'

/** What the kernel writes back at once, and forgets at once when that fails. */
const PAGE_BYTES = 4_096
/** What a disk writes whole or not at all. */
const SECTOR_BYTES = 512

const NOTHING = Buffer.alloc(PAGE_BYTES)

type Content = Buffer | null

/** A page that may be on the disk in one of several forms. */
interface Pending {
  /** Since it was last known to be on the disk; null: it was cut off. */
  versions: Content[]
  /** The next sync writes it. After a failed sync the kernel believes that it is on the disk, and never writes it. */
  dirty: boolean
}

/** One file: what programs see, what is on the disk for certain, and what may be there or not. */
export class ModelledFile {
  #seen: Content[] = []
  #durable: Content[] = []
  readonly #pending = new Map<number, Pending>()

  constructor(bytes: Buffer) {
    for (let page = 0; page * PAGE_BYTES < bytes.length; page++) {
      const content = Buffer.from(NOTHING)
      bytes.copy(content, 0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
      this.#durable[page] = content
    }
    this.#seen = [...this.#durable]
  }

  write(at: number, bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      const page = Math.floor((at + done) / PAGE_BYTES)
      const offset = (at + done) % PAGE_BYTES
      const content = Buffer.from(this.#seen[page] ?? NOTHING)
      done += bytes.copy(content, offset, done, done + PAGE_BYTES - offset)
      this.#change(page, content)
    }
  }

  truncate(length: number): void {
    const kept = Math.ceil(length / PAGE_BYTES)
    for (let page = kept; page < this.#seen.length; page++) this.#change(page, null)
    this.#seen.length = Math.min(this.#seen.length, kept)
  }

  #change(page: number, content: Content): void {
    this.#seen[page] = content
    const pending = this.#pending.get(page) ?? { versions: [], dirty: true }
    pending.versions.push(content)
    pending.dirty = true
    this.#pending.set(page, pending)
  }

  synced(): void {
    for (const [page, { dirty }] of this.#pending) {
      if (!dirty) continue
      this.#durable[page] = this.#seen[page] ?? null
      this.#pending.delete(page)
    }
  }

  failed(): void {
    for (const pending of this.#pending.values()) pending.dirty = false
  }

  /** What may be read after the power was cut now. */
  afterPowerCut(random: Random, fate: Fate): Buffer {
    const pages = [...this.#durable]
    for (const [page, { versions }] of this.#pending) {
      pages[page] = onDisk(this.#durable[page] ?? null, versions, random, fate)
    }
    while (pages.length > 0 && (pages.at(-1) ?? null) === null) pages.pop()
    return Buffer.concat(Array.from(pages, (content) => content ?? NOTHING))
  }
}

/** What became of the writes that were not synced. */
export type Fate = 'dropped' | 'kept' | 'mixed'

function onDisk(durable: Content, versions: readonly Content[], random: Random, fate: Fate): Content {
  if (fate === 'dropped') return durable
  if (fate === 'kept') return versions.at(-1)!
  const all = [durable, ...versions]
  const chosen = random.integer(0, versions.length)
  const content = all[chosen]!
  if (chosen === 0 || content === null || random.integer(0, 3) > 0) return content
  // The disk was half-way through it.
  const sectors = random.integer(0, PAGE_BYTES / SECTOR_BYTES - 1) * SECTOR_BYTES
  return Buffer.concat([content.subarray(0, sectors), (all[chosen - 1] ?? NOTHING).subarray(sectors)])
}
