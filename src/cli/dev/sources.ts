import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { dirname, extname, join, sep } from 'node:path'

/** Editors write a file in several steps, and tools save several files at once. */
const QUIET_MS = 50
const FOLDERS_MAX = 5_000
const SKIPPED = new Set(['node_modules', 'dist', 'coverage'])
const CODE = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'])

export interface SourceEvents {
  changed(files: readonly string[]): void
  problem(message: string): void
}

/**
 * Notices changes of source files by the notifications of the system. A change counts if it is of a file that the app loaded. While
 * the app does not load, it may need any source file in the folder of the config, so each of them counts.
 */
export class WatchedSources {
  readonly #root: string
  readonly #events: SourceEvents
  readonly #loaded = new Set<string>()
  readonly #watchers = new Map<string, FSWatcher>()
  /** Endings of the programs that pools run. */
  #endings: ReadonlySet<string> = new Set()
  #changed = new Set<string>()
  #quiet: NodeJS.Timeout | undefined
  #isBroken = false
  /** Other source files that changed since the last version began to load. */
  readonly #meanwhile = new Set<string>()
  #hasWarned = false

  constructor(root: string, events: SourceEvents) {
    this.#root = root
    this.#events = events
    this.#watchTree(root)
  }

  get count(): number {
    return this.#loaded.size
  }

  loaded(files: readonly string[]): void {
    for (const file of files) {
      this.#loaded.add(file)
      this.#watchFolder(dirname(file))
    }
  }

  programs(endings: readonly string[]): void {
    this.#endings = new Set(endings)
  }

  /** The next version begins to load. */
  loads(): void {
    this.#meanwhile.clear()
  }

  /** It has loaded. Otherwise, what was saved in the meantime may be the fix. */
  hasLoaded(isSound: boolean): void {
    this.#isBroken = !isSound
    if (!isSound) for (const file of this.#meanwhile) this.#change(file)
    this.#meanwhile.clear()
  }

  close(): void {
    clearTimeout(this.#quiet)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #counts(file: string): boolean {
    if (this.#loaded.has(file)) return true
    if (!file.startsWith(`${this.#root}${sep}`)) return false
    const ending = extname(file)
    if (this.#endings.has(ending)) return true
    if (!CODE.has(ending)) return false
    this.#meanwhile.add(file)
    return this.#isBroken
  }

  #watchTree(folder: string): void {
    this.#watchFolder(folder)
    for (const entry of entriesOf(folder)) {
      if (entry.isDirectory() && !isSkipped(entry.name)) this.#watchTree(join(folder, entry.name))
    }
  }

  #watchFolder(folder: string): void {
    if (this.#watchers.has(folder)) return
    if (this.#watchers.size >= FOLDERS_MAX) return this.#warn(`more than ${FOLDERS_MAX} folders`)
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null) this.#noticed(join(folder, name))
      })
      watcher.on('error', () => this.#forget(folder))
      this.#watchers.set(folder, watcher)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT') this.#warn(`${code}; on Linux, raise fs.inotify.max_user_watches`)
    }
  }

  #noticed(path: string): void {
    if (this.#counts(path)) return this.#change(path)
    const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
    if (!isFolder) return this.#forget(path)
    if (isSkipped(path.slice(path.lastIndexOf(sep) + 1)) || !path.startsWith(this.#root)) return
    this.#appeared(path)
  }

  /** A folder that is new, or was replaced as a whole. Its files may have changed before it was watched. */
  #appeared(folder: string): void {
    this.#forget(folder)
    this.#watchFolder(folder)
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && !isSkipped(entry.name)) this.#appeared(path)
      else if (this.#counts(path)) this.#change(path)
    }
  }

  #change(file: string): void {
    this.#changed.add(file)
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => {
      const files = [...this.#changed]
      this.#changed = new Set()
      this.#events.changed(files)
    }, QUIET_MS)
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }

  #warn(why: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#events.problem(`some folders are not watched for changes: ${why}`)
  }
}

function isSkipped(folder: string): boolean {
  return folder.startsWith('.') || SKIPPED.has(folder)
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
