import { StoreError } from '../../errors.ts'
import { sizeAfter } from '../../model/retention.ts'
import type { Change } from '../contract.ts'
import type { Pruned, PruneStep, Upkeep } from '../upkeep.ts'
import { type Chore, type ChoreAnswers, doChore } from './chores.ts'
import type { Connection, Durability } from './connection.ts'
import type { LaneCache } from './lanes.ts'
import { optimize } from './optimize.ts'
import { prunable, takeTurn } from './prune.ts'
import { removeRows } from './remove.ts'
import { findingsIn } from './soundness.ts'

/** Whoever wants to claim waits that long, since there is one writer at a time. */
const STEP_MS = 4

export interface UpkeepOf {
  connection: Connection
  lanes: LaneCache
  now: () => number
  read<T>(look: () => T): Promise<T>
  write<T>(durability: Durability, change: () => T): Promise<T>
  tell(change: Change): void
}

/** The chores of a store that was closed meanwhile are still done. */
export function sqliteUpkeep({ connection, lanes, now, read, write, tell }: UpkeepOf): Upkeep & {
  settled(): Promise<unknown>
} {
  const db = connection.statements
  const database = connection.path
  const inMemory = database === ':memory:'
  const underWay = new Set<Promise<unknown>>()

  const stillOpen = () => read(() => {})
  const chore = async <C extends Chore>(
    asked: C,
    onProgress?: Parameters<typeof doChore>[1],
  ): Promise<ChoreAnswers[C['kind']]> => {
    await stillOpen()
    const doing = doChore(asked, onProgress)
    underWay.add(doing)
    return doing.finally(() => underWay.delete(doing))
  }

  function step(retention: Parameters<Upkeep['pruneTasks']>[0], { limit, turn }: PruneStep) {
    const startedMs = performance.now()
    const ours = turn === undefined ? null : takeTurn(db, turn, now())
    const ids =
      turn !== undefined && ours === null ? [] : prunable(db, lanes.matching({}), retention, limit, now())
    removeRows(db, ids)
    return { ids, turn: ours, workMs: performance.now() - startedMs }
  }

  return {
    async pruneTasks(retention, asked): Promise<Pruned> {
      // Looks before it locks: mostly there is nothing to do.
      const some = await read(() => prunable(db, lanes.matching({}), retention, 1, now()))
      if (some.length === 0)
        return { removed: 0, more: false, workMs: 0, next: 'same', turn: asked.turn?.held ?? null }
      const { ids, turn, workMs } = await write('normal', () => step(retention, asked))
      if (ids.length > 0) tell({ kind: 'ended', ids: ids.map(String) })
      const next = sizeAfter(workMs, STEP_MS)
      return { removed: ids.length, more: ids.length > 0, workMs, next, turn }
    },
    async check() {
      if (!inMemory) return chore({ kind: 'check', database })
      await stillOpen()
      return findingsIn(connection)
    },
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
      return chore({ kind: 'backup', database, path, overwrite, now: now() }, onProgress)
    },
    async restore(path, { leave, onProgress }) {
      if (inMemory) throw notInMemory('restore')
      await chore({ kind: 'verify', path })
      await leave()
      await doChore({ kind: 'restore', database, path }, onProgress)
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
