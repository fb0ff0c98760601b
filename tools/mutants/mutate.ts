import { parseSync, Visitor } from 'oxc-parser'

/** One small mistake in a module: what stands between `start` and `end` is replaced. */
export interface Mutant {
  /** The same whatever is written before it: what stands there, its function, and the how manieth of these it is. */
  id: string
  line: number
  start: number
  end: number
  replacement: string
}

interface Place {
  start: number
  end: number
}

const SWAPPED: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&&': '||',
  '||': '&&',
}
const OTHER_CALL: Record<string, string> = {
  min: 'max',
  max: 'min',
  some: 'every',
  every: 'some',
  floor: 'ceil',
  ceil: 'floor',
}

/** Conditions negated, boundaries moved, operators swapped, returns dropped, constants changed, statements left out. */
export function mutantsOf(file: string, code: string): Mutant[] {
  const found: { place: Place; replacement: string }[] = []
  const text = ({ start, end }: Place) => code.slice(start, end)
  const replace = (place: Place, replacement: string) => found.push({ place, replacement })
  const operator = (node: Place & { left: Place; right: Place; operator: string }) => {
    const swapped = SWAPPED[node.operator]
    if (swapped === undefined) return
    const at = code.indexOf(node.operator, node.left.end)
    replace({ start: at, end: at + node.operator.length }, swapped)
  }
  const negated = ({ test }: { test: Place | null }) => {
    if (test !== null) replace(test, `!(${text(test)})`)
  }
  new Visitor({
    BinaryExpression: (node) => operator(node as never),
    LogicalExpression(node) {
      operator(node)
      if (node.operator === '??') replace(node, text(node.left))
    },
    IfStatement: negated,
    ConditionalExpression: negated,
    WhileStatement: negated,
    UnaryExpression(node) {
      if (node.operator === '!' || node.operator === '-') replace(node, text(node.argument))
    },
    ReturnStatement({ argument }) {
      if (argument !== null) replace(argument, 'undefined')
    },
    ArrowFunctionExpression({ body }) {
      if (body.type !== 'BlockStatement') replace(body, '(undefined)')
    },
    Literal(node) {
      if (typeof node.value === 'number') replace(node, `${node.value + 1}`)
      if (typeof node.value === 'boolean') replace(node, `${!node.value}`)
    },
    CallExpression({ callee }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      const other = OTHER_CALL[callee.property.name]
      if (other !== undefined) replace(callee.property, other)
    },
    ExpressionStatement(node) {
      replace(node, ';')
    },
  }).visit(parseSync(file, code).program)
  return named(code, found)
}

function named(code: string, found: { place: Place; replacement: string }[]): Mutant[] {
  const times = new Map<string, number>()
  return found
    .filter(({ place }) => !isType(code, place))
    .sort((a, b) => a.place.start - b.place.start)
    .map(({ place: { start, end }, replacement }) => {
      const before = code.slice(0, start)
      const statement = code.slice(code.lastIndexOf('\n', start) + 1, code.indexOf('\n', end)).trim()
      const what = `${statement.replaceAll(/\s+/g, ' ')} » ${code.slice(start, end).replaceAll(/\s+/g, ' ')} → ${replacement.replaceAll(/\s+/g, ' ')}`
      const nth = (times.get(what) ?? 0) + 1
      times.set(what, nth)
      return {
        id: nth === 1 ? what : `${what} (${nth})`,
        line: before.split('\n').length,
        start,
        end,
        replacement,
      }
    })
}

/** Types have literals, too: `{ ok: true }`. They are gone when the code runs. */
function isType(code: string, { start, end }: Place): boolean {
  return /^(true|false|-?\d[\d_]*)$/.test(code.slice(start, end)) && isInType(code, start)
}

const types = new Map<string, [number, number][]>()

function isInType(code: string, at: number): boolean {
  let ranges = types.get(code)
  if (ranges === undefined) {
    const all: [number, number][] = []
    const add = ({ start, end }: Place) => void all.push([start, end])
    new Visitor({
      TSTypeAnnotation: add,
      TSTypeAliasDeclaration: add,
      TSInterfaceDeclaration: add,
      TSTypeParameterInstantiation: add,
    }).visit(parseSync('code.ts', code).program)
    ranges = all
    types.set(code, all)
  }
  return ranges.some(([start, end]) => start <= at && at < end)
}
