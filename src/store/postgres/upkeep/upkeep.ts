import { StoreError } from '../../../errors.ts'
import { sizeAfter } from '../../../model/retention.ts'
import type { Change } from '../../contract.ts'
import { laneToGoOnAfter } from '../../prune-walk.ts'
import { checked } from '../../soundness.ts'
import type { Pruned, PruneStep, Upkeep } from '../../upkeep.ts'
import { removeRows } from '../manage/remove.ts'
import type { Memory } from '../memory.ts'
import type { Database } from '../server/database.ts'
import type { Manner } from '../server/settings.ts'
import type { Sql } from '../server/sql.ts'
import { lockAsSeen, PruneMarks, prunable, takeTurn } from './prune.ts'
import { findingsIn } from './soundness.ts'
import { giveBackUnreachable } from './unreachable.ts'

export interface UpkeepOf {
  database: Database
  memory: Memory
  clockMs: () => number | null
  now: () => Promise<number>
  read<T>(work: () => Promise<T>): Promise<T>
  write<T>(work: (sql: Sql) => Promise<T>, manner: Manner): Promise<T>
  spread(change: Change): void
}

/** Nobody waits for it, but it should not take the server's time for long at once. */
const STEP_MS = 40

const QUIETLY: Manner = { durable: false, byIndex: true }

export function postgresUpkeep({ database, memory, clockMs, now, read, write, spread }: UpkeepOf): Upkeep {
  const { sql } = database
  const marks = new PruneMarks()

  async function step(
    own: Sql,
    found: Parameters<typeof lockAsSeen>[1],
    turn: PruneStep['turn'],
    nowMs: number,
  ): Promise<{ ids: number[]; workMs: number; turn: number | null }> {
    const ours = turn === undefined ? null : await takeTurn(own, turn, nowMs)
    if (turn !== undefined && ours === null) return { ids: [], workMs: 0, turn: null }
    const ids = await lockAsSeen(own, found, turn !== undefined)
    const workMs = await removeRows(own, ids)
    return { ids, workMs, turn: ours }
  }

  return {
    async pruneTasks(retention, { limit, afterLane: position = 0, turn: asked }): Promise<Pruned> {
      const { found, lanes, unfinished, nowMs } = await read(async () => {
        const nowMs = await now()
        return { ...(await prunable(sql, marks, position, retention, limit, nowMs)), nowMs }
      })
      const afterLane = laneToGoOnAfter(lanes, unfinished)
      if (found.length === 0) {
        if (afterLane === 0) marks.forget()
        const turn = asked?.held ?? null
        return { removed: 0, more: afterLane !== 0, afterLane, workMs: 0, next: 'same', turn }
      }
      const { ids, workMs, turn } = await write((own) => step(own, found, asked, nowMs), QUIETLY)
      if (ids.length > 0) {
        marks.removed(found)
        spread({ kind: 'ended', ids: ids.map(String) })
      }
      // What another one was at is gone by now, unless it was skipped: then the next round is soon enough.
      const more = asked === undefined || ids.length > 0
      return { removed: ids.length, more, afterLane, workMs, next: sizeAfter(workMs, STEP_MS), turn }
    },
    check: () =>
      read(() =>
        checked(
          () => findingsIn(database.unhurried),
          () => giveBackUnreachable(database, memory, clockMs()),
        ),
      ),
    optimize: () =>
      read(async () => {
        await vacuum(database)
        return { vacuumed: true, freeBytes: null }
      }),
    // The server does it by itself, for all databases together.
    checkpoint: () => read(async () => ({ complete: true })),
    async backup() {
      throw notOurs('backup')
    },
    backups: () => read(async () => []),
    async restore() {
      throw notOurs('restore')
    },
  }
}

/** What was removed may be filled again, and the planner knows what the tables look like. Not FULL: that locks them. */
async function vacuum(database: Database): Promise<void> {
  const { sql } = database
  const tables = await sql.rows<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1',
    [sql.schema],
  )
  await database.outside(tables.map(({ name }) => `VACUUM (ANALYZE) gleaner."${name}"`))
}

export function notOurs(verb: 'backup' | 'restore'): StoreError {
  return new StoreError(`${verb}: PostgreSQL has tools of its own for it`, {
    code: 'NOT_SUPPORTED',
    hint: 'Use pg_dump, which copies a database while it is used, and pg_restore.',
  })
}
