import {
  type Argument,
  type Declaration,
  type Expression,
  type Node,
  parseSync,
  type TemplateLiteral,
  Visitor,
} from 'oxc-parser'

/**
 * How a file names another one. `type` vanishes before the program runs. (`import { type A }` does not: under
 * `verbatimModuleSyntax` it still loads the module, so it is a `value`.) `path` is a file named beside `import.meta.url`,
 * as for `new Worker(new URL('./thread.ts', import.meta.url))`.
 */
type ImportKind = 'value' | 'type' | 'dynamic' | 'path'

export interface Import {
  specifier: string
  kind: ImportKind
  line: number
}

/** A string or template in the code, with `{…}` where an expression is filled in. */
interface Text {
  value: string
  line: number
}

/** A function or method with a body. */
export interface FoundFunction {
  line: number
  lines: number
  parameters: number
}

/** A name that a file declares and exports. */
export interface Exported {
  name: string
  line: number
}

export interface FoundInterface {
  name: string
  line: number
  members: number
  /** Names of the interfaces that it extends. */
  extends: string[]
}

export interface Source {
  imports: Import[]
  texts: Text[]
  functions: FoundFunction[]
  exports: Exported[]
  interfaces: FoundInterface[]
  syntaxError: Text | undefined
}

const HOLE = '{…}'

/** What stands before the first hole, and so is known without running the program. */
export function knownStart(text: string): string {
  return text.split(HOLE, 1)[0]!
}

/** Reads a file's imports with a real parser: comments and strings that look like imports are none. */
export function readSource(path: string, code: string): Source {
  const imports: Import[] = []
  const texts: Text[] = []
  const functions: FoundFunction[] = []
  const exports: Exported[] = []
  const interfaces: FoundInterface[] = []
  const lineAt = lineFinder(code)
  const add = (specifier: string, kind: ImportKind, node: Node) =>
    imports.push({ specifier, kind, line: lineAt(node.start) })
  const addAll = (expressions: Argument[], kind: ImportKind, node: Node) => {
    for (const specifier of expressions.flatMap(possibleTexts)) add(specifier, kind, node)
  }

  const addFunction = ({ start, end, params }: Node & { params: unknown[] }) => {
    const line = lineAt(start)
    functions.push({ line, lines: lineAt(end) - line + 1, parameters: params.length })
  }

  const { program, errors } = parseSync(path, code)
  new Visitor({
    ImportDeclaration: (node) => add(node.source.value, kindOf(node.importKind), node),
    ExportAllDeclaration: (node) => add(node.source.value, kindOf(node.exportKind), node),
    ExportNamedDeclaration(node) {
      if (node.source) add(node.source.value, kindOf(node.exportKind), node)
      for (const name of declaredNames(node.declaration)) exports.push({ name, line: lineAt(node.start) })
    },
    FunctionDeclaration: addFunction,
    FunctionExpression: addFunction,
    ArrowFunctionExpression: addFunction,
    TSInterfaceDeclaration: ({ id, body, extends: extended, start }) => {
      const names = extended.flatMap(({ expression }) =>
        expression.type === 'Identifier' ? [expression.name] : [],
      )
      interfaces.push({ name: id.name, line: lineAt(start), members: body.body.length, extends: names })
    },
    TSImportType: (node) => add(node.source.value, 'type', node),
    ImportExpression: (node) => addAll([node.source], 'dynamic', node),
    NewExpression(node) {
      if (node.arguments.some(isImportMeta)) addAll(node.arguments, 'path', node)
    },
    CallExpression(node) {
      if (isRequire(node.callee)) addAll(node.arguments, 'dynamic', node)
      else if (isImportMeta(node.callee) || node.arguments.some(isImportMeta))
        addAll(node.arguments, 'path', node)
    },
    Literal(node) {
      if (typeof node.value === 'string') texts.push({ value: node.value, line: lineAt(node.start) })
    },
    TemplateLiteral: (node) => texts.push({ value: templateText(node), line: lineAt(node.start) }),
  }).visit(program)

  return {
    imports,
    texts,
    functions,
    exports,
    interfaces,
    syntaxError: errors[0] && {
      value: errors[0].message,
      line: lineAt(errors[0].labels[0]?.start ?? 0),
    },
  }
}

function declaredNames(declaration: Declaration | null): string[] {
  if (declaration === null) return []
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
  return 'id' in declaration && declaration.id?.type === 'Identifier' ? [declaration.id.name] : []
}

function kindOf(keyword: 'value' | 'type' | null | undefined): ImportKind {
  return keyword === 'type' ? 'type' : 'value'
}

function isRequire(callee: Expression): boolean {
  return callee.type === 'Identifier' && callee.name === 'require'
}

/** `import.meta.url`, `import.meta.dirname`, `import.meta.resolve`, … */
function isImportMeta(node: Argument | Expression): boolean {
  return node.type === 'MemberExpression' && node.object.type === 'MetaProperty'
}

/** Every text an expression may turn out to be, as far as it is written in the code. */
function possibleTexts(node: Argument): string[] {
  switch (node.type) {
    case 'Literal':
      return typeof node.value === 'string' ? [node.value] : []
    case 'TemplateLiteral':
      return [templateText(node)]
    case 'ConditionalExpression':
      return [...possibleTexts(node.consequent), ...possibleTexts(node.alternate)]
    case 'BinaryExpression':
      return node.left.type === 'PrivateIdentifier' ? [] : possibleTexts(node.left).map((text) => text + HOLE)
    default:
      return []
  }
}

function templateText(node: TemplateLiteral): string {
  return node.quasis.map((quasi) => quasi.value.cooked ?? quasi.value.raw).join(HOLE)
}

function lineFinder(code: string): (offset: number) => number {
  const starts = [0]
  for (let at = code.indexOf('\n'); at >= 0; at = code.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return low + 1
  }
}
