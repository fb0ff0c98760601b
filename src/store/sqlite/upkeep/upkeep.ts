import { resolve } from 'node:path'
import { StoreError } from '../../../errors.ts'
import { type Retention, sizeAfter } from '../../../model/retention.ts'
import type { Change } from '../../contract.ts'
import { laneToGoOnAfter } from '../../prune-walk.ts'
import { checked } from '../../soundness.ts'
import type { Backup, BackupRecord, Finding, Pruned, PruneStep, Upkeep } from '../../upkeep.ts'
import type { Connection, Durability } from '../file/connection.ts'
import { removeRows } from '../manage/remove.ts'
import type { Memory } from '../memory.ts'
import { noteBackup, readBackups } from './backups.ts'
import { type Chore, type ChoreAnswers, doChore } from './chores.ts'
import { optimize } from './optimize.ts'
import { prunable, takeTurn } from './prune.ts'
import { findingsIn } from './soundness.ts'
import { giveBackUnreachable, moveToTheirLines } from './unreachable.ts'

/** Whoever wants to claim waits that long, since there is one writer at a time. */
const STEP_MS = 4

export interface UpkeepOf {
  connection: Connection
  memory: Memory
  now: () => number
  read<T>(look: () => T): Promise<T>
  write<T>(durability: Durability, change: () => T): Promise<T>
  tell(change: Change): void
}

/** The chores of a store that was closed meanwhile are still done. */
export function sqliteUpkeep({ connection, memory, now, read, write, tell }: UpkeepOf): Upkeep & {
  settled(): Promise<unknown>
} {
  const db = connection.statements
  const database = connection.path
  const { library } = connection.driver
  const inMemory = database === ':memory:'
  const underWay = new Set<Promise<unknown>>()

  const stillOpen = () => read(() => {})
  const chore = async <C extends Chore>(
    asked: C,
    onProgress?: Parameters<typeof doChore>[1],
  ): Promise<ChoreAnswers[C['kind']]> => {
    await stillOpen()
    const doing = doChore(asked, onProgress, library)
    underWay.add(doing)
    return doing.finally(() => underWay.delete(doing))
  }

  /** Also one that failed: somebody counts on it. */
  async function noted(
    started: Pick<BackupRecord, 'path' | 'startedAt'>,
    make: () => Promise<Backup>,
  ): Promise<Backup> {
    const since = performance.now()
    const note = (how: Pick<BackupRecord, 'bytes' | 'error'>) =>
      // A copy that is there is not refused because nobody could write it down.
      write('normal', () => noteBackup(db, { ...started, ...how, tookMs: performance.now() - since })).catch(
        () => {},
      )
    try {
      const made = await make()
      await note({ bytes: made.bytes, error: null })
      return made
    } catch (error) {
      await note({ bytes: null, error: (error as Error).message })
      throw error
    }
  }

  function step(retention: Retention, { limit, afterLane = 0, turn }: PruneStep) {
    const startedMs = performance.now()
    const ours = turn === undefined ? null : takeTurn(db, turn, now())
    if (turn !== undefined && ours === null) return { found: null, turn: null, workMs: 0 }
    const found = prunable(db, afterLane, retention, limit, now())
    removeRows(db, found.ids)
    return { found, turn: ours, workMs: performance.now() - startedMs }
  }

  async function look(): Promise<Finding[]> {
    if (!inMemory) return chore({ kind: 'check', database })
    await stillOpen()
    return findingsIn(connection)
  }

  return {
    async pruneTasks(retention, asked): Promise<Pruned> {
      // Looks before it locks: mostly there is nothing to do.
      const seen = await read(() => prunable(db, asked.afterLane ?? 0, retention, 1, now()))
      if (seen.ids.length === 0) {
        const afterLane = laneToGoOnAfter(seen.lanes, null)
        const turn = asked.turn?.held ?? null
        return { removed: 0, more: afterLane !== 0, afterLane, workMs: 0, next: 'same', turn }
      }
      const { found, turn, workMs } = await write('normal', () => step(retention, asked))
      if (found === null) return { removed: 0, more: false, afterLane: 0, workMs, next: 'same', turn }
      const { ids, lanes, unfinished } = found
      if (ids.length > 0) tell({ kind: 'ended', ids: ids.map(String) })
      const afterLane = laneToGoOnAfter(lanes, unfinished)
      const more = ids.length > 0 || afterLane !== 0
      return { removed: ids.length, more, afterLane, workMs, next: sizeAfter(workMs, STEP_MS), turn }
    },
    check: () =>
      checked(look, () =>
        write('full', () => {
          giveBackUnreachable(db, memory, now())
          moveToTheirLines(db)
        }),
      ),
    async optimize(options) {
      if (!inMemory) return chore({ kind: 'optimize', database, options })
      await stillOpen()
      return optimize(connection, options)
    },
    async checkpoint() {
      if (!inMemory) return chore({ kind: 'checkpoint', database })
      await stillOpen()
      return { complete: true }
    },
    async backup(path, { overwrite, onProgress }) {
      if (inMemory) throw notInMemory('backup')
      const startedAt = now()
      return noted({ path: resolve(path), startedAt }, () =>
        chore({ kind: 'backup', database, path, overwrite, now: startedAt }, onProgress),
      )
    },
    backups: () => read(() => readBackups(db)),
    async restore(path, { leave, onProgress }) {
      if (inMemory) throw notInMemory('restore')
      await chore({ kind: 'verify', path })
      await leave()
      await doChore({ kind: 'restore', database, path }, onProgress, library)
    },
    settled: () => Promise.allSettled(underWay),
  }
}

export function notInMemory(verb: string): StoreError {
  return new StoreError(`${verb}: the database is in memory`, {
    code: 'NOT_SUPPORTED',
    hint: 'Only a file has backups.',
  })
}
