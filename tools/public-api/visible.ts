import type { Node, Statement } from 'oxc-parser'
import { children } from '../language/syntax.ts'
import type { Declared, Module, Modules } from './modules.ts'

export interface Span {
  start: number
  end: number
}

/** What a user never sees of a declaration: the bodies of its functions, and what is private. */
export function isHidden(node: Node): boolean {
  if (node.type === 'BlockStatement') return true
  if ('accessibility' in node && node.accessibility === 'private') return true
  return 'key' in node && (node.key as Node | null)?.type === 'PrivateIdentifier'
}

export function hiddenIn(node: Node): Span[] {
  return isHidden(node) ? [node] : children(node).flatMap(hiddenIn)
}

/** Every name that a user reads in it. */
export function namesIn(node: Node): string[] {
  if (isHidden(node)) return []
  return [...(node.type === 'Identifier' ? [node.name] : []), ...children(node).flatMap(namesIn)]
}

export function statementsOf({ module, name }: Declared): Statement[] {
  return module.declared.get(name)!
}

/** Each of them once, and everything that they name, and what that names. */
export function reachedFrom(first: readonly Declared[], modules: Modules): Declared[] {
  const reached = new Map<string, Declared>()
  const open = [...first]
  for (let next = open.pop(); next; next = open.pop()) {
    const id = idOf(next)
    if (reached.has(id)) continue
    reached.set(id, next)
    for (const named of namesOf(next)) {
      const found = modules.behind(next.module, named)
      if (found) open.push(found)
    }
  }
  return [...reached.values()]
}

export function idOf({ module, name }: Declared): string {
  return `${module.file} ${name}`
}

function namesOf(declared: Declared): string[] {
  return statementsOf(declared).flatMap(namesIn)
}

/** The doc comments before a statement and in the visible parts of it, in their order. */
export function docCommentsOf(module: Module, statement: Statement): (Span & { value: string })[] {
  const hidden = hiddenIn(statement)
  return module.comments
    .filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
    .filter((comment) =>
      comment.end <= statement.start
        ? module.code.slice(comment.end, statement.start).trim() === ''
        : comment.start < statement.end && !hidden.some((part) => isPartOf(part, comment, module.code)),
    )
}

/** Inside of it, or right before it. */
function isPartOf(part: Span, comment: Span, code: string): boolean {
  if (comment.end <= part.start) return code.slice(comment.end, part.start).trim() === ''
  return comment.start >= part.start && comment.end <= part.end
}
