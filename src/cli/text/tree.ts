import { type FlowBranch, type FlowTree, unfinishedIn, unsuccessfulOf } from '../../model/flow.ts'
import { failureOf } from './task.ts'

/** A task, and below it what it waits for. */
export function treeLines(tree: FlowTree, indent = ''): string[] {
  const { id, name, status, error } = tree.task
  const why = error === null || status === 'completed' ? '' : `: ${failureOf(error)}`
  const own = `${indent}${id} ${name} ${status}${why}`
  return [own, ...tree.flows.flatMap((branch) => branchLines(branch, `${indent}  `))]
}

function branchLines(branch: FlowBranch, indent: string): string[] {
  const { flow, tasks, more } = branch
  const rest = more === 0 ? [] : [`${indent}  … and ${more} more`]
  return [`${indent}${titleOf(flow)}`, ...tasks.flatMap((tree) => treeLines(tree, `${indent}  `)), ...rest]
}

function titleOf(flow: FlowBranch['flow']): string {
  const { kind, name, number, total, completed } = flow
  const what = kind === 'after' ? 'after' : `${kind} ${name}${number === 1 ? '' : ` (${number})`}`
  const failed = unsuccessfulOf(flow)
  const parts = [`${completed} of ${total} completed`]
  if (failed > 0) parts.push(`${failed} not completed`)
  if (unfinishedIn(flow) > 0) parts.push(`${unfinishedIn(flow)} unfinished`)
  return `${what}: ${parts.join(', ')}`
}
