import { readCursor, writeCursor } from '../../cursor.ts'
import type { FlowStore, NewBatch, NewChildren } from '../../ports/flows.ts'
import type { Enqueued, NewTask } from '../../ports/new-task.ts'
import type { PageRequest } from '../../ports/page.ts'
import { change, one, rows, type Script } from '../../sql/script.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { sql } from '../../sql/sql.ts'
import { FLOW, type FlowRow, flowRecord, readFlow } from '../flow-row.ts'
import { awaitedBy, insertAfter, insertBatch, spawnChildren } from './make.ts'
import { readOutcomes } from './outcomes.ts'
import { settleFlows } from './settle.ts'
import type { SettlingFlows } from './settling.ts'
import { readTree } from './tree.ts'

export interface FlowServices {
  settling: SettlingFlows
  /** Before the transaction that enqueues them. */
  prepare(tasks: readonly NewTask[]): Promise<void>
  /** In a transaction that this change has for itself. */
  writeAlone<Answer>(script: () => Script<Answer>): Promise<Answer>
  /** In a transaction of its own. */
  watch(task: number): Promise<unknown>
  /** The number of a session, and of a flow. */
  rowid(id: string): number
}

export interface StoredFlows {
  flows: FlowStore
  noticed: () => void
  /** Some of these wait for other tasks. */
  enqueueAfter(tasks: readonly NewTask[]): Promise<Enqueued[]>
}

/** The verbs for flows. `noticed`: tasks ended that others may wait for. */
export function flowStore(scripts: Scripts, services: FlowServices): StoredFlows {
  const { read, write, tell } = scripts
  const { settling, prepare, rowid } = services
  let told = () => {}
  const flows: FlowStore = {
    async spawn(session, children: NewChildren) {
      await prepare(children.tasks)
      const answer = await write(() => spawnChildren(settling, rowid(session), children))
      if (answer.kind === 'spawned') {
        tell({ kind: 'work' })
        if (answer.created < children.tasks.length) told()
      }
      return answer
    },
    async startBatch(batch: NewBatch) {
      await prepare(batch.tasks)
      const flow = await write(() => insertBatch(settling, batch))
      tell({ kind: 'work' })
      told()
      return String(flow)
    },
    ...readingFlows(scripts, rowid),
    async cancelFlow(id) {
      const found = await write(() => cancelFlow(rowid(id)))
      if (found) told()
      return found
    },
    async settle() {
      if (!(await read(hasNews))) return { more: false }
      const { more, ended, queued, requested } = await scripts.writeStep(() => settleFlows(settling))
      if (ended.length > 0) tell({ kind: 'ended', ids: ended })
      if (requested) tell({ kind: 'cancel' })
      if (queued) tell({ kind: 'work' })
      return { more }
    },
    onNews: (listener) => {
      told = listener
    },
  }
  return {
    flows,
    noticed: () => told(),
    enqueueAfter: (tasks) => enqueueAfter(scripts, services, tasks, () => told()),
  }
}

async function enqueueAfter(
  { tell }: Scripts,
  { settling, prepare, watch, writeAlone, rowid }: FlowServices,
  tasks: readonly NewTask[],
  told: () => void,
): Promise<Enqueued[]> {
  await prepare(tasks)
  // One by one, and before: a transaction that has locked several tasks could wait for a worker that waits for it.
  for (const id of awaitedBy(tasks)) await watch(rowid(id))
  const answers = await writeAlone(() => insertAfter(settling, tasks))
  tell({ kind: 'work' })
  told()
  return answers
}

function readingFlows(
  { db, read }: Scripts,
  rowid: (id: string) => number,
): Pick<FlowStore, 'flow' | 'flowsOf' | 'outcomes' | 'tree' | 'listBatches'> {
  return {
    flow: (id) => read(() => recordOf(rowid(id))),
    flowsOf: (item) => read(() => flowsOf(item)),
    outcomes: (flow, page) => read(() => readOutcomes(rowid(flow), page)),
    tree: (id, most) => read(() => readTree(db, id, most)),
    listBatches: (page) => read(() => listBatches(page)),
  }
}

function* recordOf(id: number): Script<ReturnType<typeof flowRecord> | null> {
  const row = yield* readFlow(id)
  return row === undefined ? null : flowRecord(row)
}

function* flowsOf(item: string): Script<ReturnType<typeof flowRecord>[]> {
  const found = yield* rows<FlowRow>(sql`
    SELECT ${FLOW} FROM gleaner.flows AS f WHERE f.waiter = ${item} AND NOT f.dropped ORDER BY f.id`)
  return found.map(flowRecord)
}

function* listBatches({ limit, cursor }: PageRequest) {
  const [before = Number.MAX_SAFE_INTEGER] = readCursor(cursor, 1)
  const found = yield* rows<FlowRow>(sql`
    SELECT ${FLOW} FROM gleaner.flows AS f WHERE f.kind = 'batch' AND f.id < ${before} ORDER BY f.id DESC LIMIT ${limit}`)
  const next = found.length < limit ? null : writeCursor([found.at(-1)!.id])
  return { items: found.map(flowRecord), next }
}

/** Its unfinished tasks are cancelled by the steps that follow. */
function* cancelFlow(id: number): Script<boolean> {
  const changed = yield* change(
    sql`UPDATE gleaner.flows SET cancelling = coalesce(cancelling, 0) WHERE id = ${id}`,
  )
  return changed > 0
}

function* hasNews(): Script<boolean> {
  const found = yield* one<{ has_news: number | boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM gleaner.flow_news) OR EXISTS (SELECT 1 FROM gleaner.flows WHERE cancelling IS NOT NULL) AS has_news`)
  return Boolean(found!.has_news)
}
