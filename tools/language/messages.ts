import { type Node, parseSync } from 'oxc-parser'
import { CODE, type Piece } from './sentences.ts'
import { children, lineFinder } from './syntax.ts'

const SQL_START =
  /^[\s(]*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|WITH|PRAGMA|BEGIN|COMMIT|ROLLBACK|FROM|WHERE|AND|OR|ORDER|GROUP|SET|ON|JOIN|LEFT|CROSS|UNION|VALUES|RETURNING|CASE|EXISTS|NOT|LIMIT|FOR|LOCK|LISTEN|NOTIFY|ANALYZE|VACUUM|REINDEX|EXPLAIN|COALESCE|ATTACH|DETACH|SHOW|GRANT|REVOKE)\b/
const SQL_WORD =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|FROM|WHERE|AND|OR|ORDER BY|GROUP BY|SET|JOIN|UNION|VALUES|RETURNING|CASE|WHEN|THEN|EXISTS|NULL|LIMIT|CONFLICT|AS|IN|IS|NOT|PRIMARY KEY|REFERENCES)\b/g

/** `name, ageing_ms, paused` */
const COLUMNS = /^\s*(?=.*_)[\w.]+(?:,\s+[\w.]+)+,?\s*$/

/** Views are for users, who read their comments in the schema. */
const VIEW = /\bCREATE (?:OR REPLACE )?VIEW\b/
const VIEW_COMMENT = /^\s*--/

/** Attributes whose values are for the browser, not for a reader. */
const SILENT_ATTRIBUTES = new Set([
  'className',
  'class',
  'style',
  'd',
  'viewBox',
  'points',
  'transform',
  'id',
  'href',
  'rel',
])

/** Messages in the code: strings and templates with a space in them that are no SQL, and the texts of JSX. */
export function messagePieces(file: string, code: string): Piece[] {
  const lineAt = lineFinder(code)
  const pieces: Piece[] = []
  const add = (node: Node, text: string, isLabel = false) => {
    const isQuery = isSql(text)
    for (const [index, line] of text.split('\n').entries()) {
      const isRead = isQuery ? VIEW_COMMENT.test(line) && VIEW.test(text) : isLabel || isMessage(line)
      if (isRead && /\p{L}/u.test(line))
        pieces.push({
          file,
          line: lineAt(node.start) + (node.type === 'TemplateLiteral' ? index : 0),
          text: line,
        })
    }
  }

  const visit = (node: Node): void => {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ExportAllDeclaration':
      case 'ImportExpression':
      case 'TSLiteralType':
        return
      case 'JSXAttribute':
        if (node.name.type === 'JSXIdentifier' && SILENT_ATTRIBUTES.has(node.name.name)) return
        break
      case 'TaggedTemplateExpression':
        // `sql` and its like make a query of it.
        if (!/sql$/i.test(code.slice(node.tag.start, node.tag.end))) break
        node.quasi.expressions.forEach(visit)
        return
      case 'JSXElement':
      case 'JSXFragment': {
        const text = node.children
          .map((child) => (child.type === 'JSXText' ? child.value : (literalText(child) ?? CODE)))
          .join('')
          .replaceAll(/\s+/g, ' ')
          .trim()
        if (text.replaceAll(CODE, '') !== '') add(node, text, true)
        children(node).forEach(visit)
        return
      }
      case 'JSXText':
        return
      case 'Literal':
        if (typeof node.value === 'string') add(node, node.value)
        return
      case 'TemplateLiteral':
        add(node, textOf(node)!)
        node.expressions.forEach(visit)
        return
      case 'BinaryExpression': {
        const text = node.operator === '+' ? textOf(node) : undefined
        if (text === undefined) break
        add(node, text)
        holesOf(node).forEach(visit)
        return
      }
      case 'CallExpression': {
        const joined = joinedText(node)
        if (joined === undefined) break
        add(node, joined.text)
        joined.holes.forEach(visit)
        return
      }
    }
    children(node).forEach(visit)
  }

  visit(parseSync(file, code).program)
  return pieces
}

function isMessage(text: string): boolean {
  const trimmed = text.trim()
  return /\s/.test(trimmed) && /\p{L}{2}/u.test(trimmed)
}

function isSql(text: string): boolean {
  return SQL_START.test(text) || COLUMNS.test(text) || [...text.matchAll(SQL_WORD)].length >= 2
}

/** The text of a string, a template or a sum of them, with `CODE` for what is filled in. */
function textOf(node: Node): string | undefined {
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'string' ? node.value : undefined
    case 'TemplateLiteral':
      return node.quasis.map((quasi) => quasi.value.cooked ?? quasi.value.raw).join(CODE)
    case 'BinaryExpression': {
      if (node.operator !== '+') return undefined
      const [left, right] = [textOf(node.left), textOf(node.right)]
      return left === undefined && right === undefined ? undefined : `${left ?? CODE}${right ?? CODE}`
    }
    default:
      return undefined
  }
}

/** What is filled into a text: it may hold texts of its own. */
function holesOf(node: Node): Node[] {
  switch (node.type) {
    case 'Literal':
      return []
    case 'TemplateLiteral':
      return node.expressions
    case 'BinaryExpression':
      return node.operator === '+' ? [...holesOf(node.left), ...holesOf(node.right)] : [node]
    default:
      return [node]
  }
}

/** `['a', b].join(' ')` */
function joinedText(node: Node & { type: 'CallExpression' }): { text: string; holes: Node[] } | undefined {
  const { callee, arguments: args } = node
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'ArrayExpression') return undefined
  if (callee.property.type !== 'Identifier' || callee.property.name !== 'join') return undefined
  const separator = args[0]?.type === 'Literal' ? args[0].value : undefined
  if (typeof separator !== 'string') return undefined
  const elements = callee.object.elements.filter((element) => element !== null)
  return {
    text: elements.map((element) => textOf(element) ?? CODE).join(separator),
    holes: elements.flatMap((element) => (textOf(element) === undefined ? [element] : holesOf(element))),
  }
}

function literalText(node: Node): string | undefined {
  return node.type === 'JSXExpressionContainer' ? textOf(node.expression) : undefined
}
