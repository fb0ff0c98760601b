import type { FlowBranch, FlowNode, FlowTree } from '../../../model/flow.ts'
import type { TaskStatus } from '../../../model/task.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { one, rows, type Script } from '../../sql/script.ts'
import { sql } from '../../sql/sql.ts'
import { rowid } from '../../task-row.ts'
import { FLOW, type FlowRow, flowRecord } from '../flow-row.ts'

interface NodeRow {
  id: number
  name: string
  queue: string
  status: TaskStatus
  error: string | null
}

/** How many tasks of one flow a tree shows. */
const SHOWN_OF_FLOW = 100

export function* readTree(db: Dialect, id: string, most: number): Script<FlowTree | null> {
  const found = yield* readNodes(db, [rowid(id)])
  const node = found.get(rowid(id))
  if (node === undefined) return null
  const root: FlowTree = { task: node, parent: yield* parentOf(rowid(id)), flows: [] }
  const room = { left: most }
  const seen = new Set([id])
  // Level by level, so that what is near is shown.
  let level = [root]
  while (level.length > 0 && room.left > 0) level = yield* branchesOf(db, level, room, seen)
  return root
}

function* parentOf(task: number): Script<string | null> {
  const flow = yield* one<{ waiter: string | null }>(sql`
    SELECT f.waiter FROM gleaner.tasks AS t JOIN gleaner.flows AS f ON f.id = t.flow
    WHERE t.id = ${task} AND f.kind = 'children'`)
  return flow?.waiter ?? null
}

/** Answers the next level. */
function* branchesOf(
  db: Dialect,
  level: readonly FlowTree[],
  room: { left: number },
  seen: Set<string>,
): Script<FlowTree[]> {
  const byId = new Map(level.map((tree) => [tree.task.id, tree]))
  const flows = yield* rows<FlowRow>(sql`
    SELECT ${FLOW} FROM gleaner.flows AS f WHERE f.waiter ${db.oneOf([...byId.keys()])} AND NOT f.dropped ORDER BY f.id`)
  const next: FlowTree[] = []
  for (const flow of flows) {
    const tasks = yield* membersOf(db, flow, Math.min(SHOWN_OF_FLOW, room.left))
    room.left -= tasks.length
    const branch: FlowBranch = { flow: flowRecord(flow), tasks, more: Math.max(0, flow.total - tasks.length) }
    byId.get(flow.waiter!)!.flows.push(branch)
    for (const tree of tasks) {
      // A task may be in several flows: it is followed once.
      if (seen.has(tree.task.id)) continue
      seen.add(tree.task.id)
      next.push(tree)
    }
  }
  return next
}

function* membersOf(db: Dialect, { id, kind, waiter }: FlowRow, most: number): Script<FlowTree[]> {
  const members = yield* rows<{ task: number; status: string | null }>(sql`
    SELECT task, status FROM gleaner.flow_members WHERE flow = ${id} ORDER BY task LIMIT ${most}`)
  const nodes = yield* readNodes(
    db,
    members.map(({ task }) => task),
  )
  return members.map(({ task, status }) => ({
    task: nodes.get(task) ?? goneNode(task, status),
    parent: kind === 'children' ? waiter : null,
    flows: [],
  }))
}

function* readNodes(db: Dialect, ids: readonly number[]): Script<Map<number, FlowNode>> {
  const found = yield* rows<NodeRow>(sql`
    SELECT t.id, l.name, l.queue, t.status, t.error FROM gleaner.tasks AS t JOIN gleaner.lanes AS l ON l.id = t.lane
    WHERE t.id ${db.oneOf(ids)}`)
  return new Map(
    found.map(({ id, error, ...node }) => [
      id,
      { id: String(id), ...node, error: error === null ? null : JSON.parse(error) },
    ]),
  )
}

function goneNode(task: number, status: string | null): FlowNode {
  return { id: String(task), name: '', queue: '', status: (status ?? 'removed') as TaskStatus, error: null }
}
