import type { AwaitedTasks } from '../../model/explanation.ts'
import { unfinishedIn } from '../../model/flow.ts'
import { SHOWN_MAX } from '../../model/reasons.ts'
import { rows, type Script } from '../sql/script.ts'
import { sql } from '../sql/sql.ts'
import { FLOW, type FlowRow } from './flow-row.ts'

/** The unfinished tasks that a suspended one waits for. */
export function* readAwaited(task: number): Script<AwaitedTasks[]> {
  const flows = yield* rows<FlowRow>(sql`
    SELECT ${FLOW} FROM gleaner.flows WHERE waiter = ${String(task)} AND resolved_at IS NULL AND NOT dropped ORDER BY id`)
  const turns = yield* rows<FlowRow>(sql`
    SELECT ${FLOW} FROM gleaner.flows WHERE id = (SELECT flow FROM gleaner.flow_members
      WHERE flow = (SELECT flow FROM gleaner.tasks WHERE id = ${task}) AND task = ${task} AND held = 1)`)
  const awaited: AwaitedTasks[] = []
  for (const flow of flows) awaited.push(yield* awaitedIn(flow, flow.kind === 'after' ? 'tasks' : 'children'))
  for (const flow of turns) awaited.push(yield* awaitedIn(flow, 'turn'))
  return awaited
}

function* awaitedIn(flow: FlowRow, kind: AwaitedTasks['kind']): Script<AwaitedTasks> {
  const members = yield* rows<{ task: number }>(sql`
    SELECT task FROM gleaner.flow_members WHERE flow = ${flow.id} AND counted IS NULL AND held = 0
    ORDER BY task LIMIT ${SHOWN_MAX}`)
  const { name, total } = flow
  return { kind, name, total, unfinished: unfinishedIn(flow), tasks: members.map(({ task }) => String(task)) }
}
