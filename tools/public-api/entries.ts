import type { Node, Statement } from 'oxc-parser'
import { children } from '../language/syntax.ts'
import { type Declared, DOORS, type Module, type Modules, readModules } from './modules.ts'
import { hiddenIn, idOf, isHidden, type Span, statementsOf } from './visible.ts'

export type Kind = 'function' | 'class' | 'interface' | 'type'

/** One name that a user can import, or that such a name mentions. */
export interface Entry {
  /** The name at its door. */
  name: string
  kind: Kind
  /** Its doc comment as Markdown; empty without one. */
  about: string
  /** How it is declared, without bodies. */
  code: string
  members: Member[]
  /** Other types in it. */
  mentions: Mention[]
}

export interface Member {
  /** `run`, with `?` if it may be left out. */
  name: string
  type: string
  about: string
}

export interface Door {
  door: string
  entries: Entry[]
  /** Types without a name to import that the entries mention. */
  mentioned: Entry[]
}

/** A type that an entry mentions; `door` is set if another door exports it. */
export interface Mention {
  name: string
  door?: string
}

/** Everything behind each door, and the types that these mention. */
export function publicEntries(root: string): Door[] {
  const modules = readModules(root)
  const doors = Object.entries(DOORS).map(([door, file]) => ({ door, names: exportedBy(file, modules) }))
  const elsewhere = new Map<string, Mention>()
  for (const { door, names } of doors)
    for (const [id, { name }] of names) if (!elsewhere.has(id)) elsewhere.set(id, { name, door })
  return doors.map(({ door, names }) => {
    const exported = [...names.values()].map(({ declared }) => declared)
    const others = typesMentionedBy(exported, modules, (one) => !elsewhere.has(idOf(one)) && !isClass(one))
    const mention = (one: Declared): Mention[] => {
      const own = names.get(idOf(one))
      if (own !== undefined) return [{ name: own.name }]
      const other = elsewhere.get(idOf(one))
      return other ? [other] : isClass(one) ? [] : [{ name: one.name }]
    }
    const entryOf = (one: Declared) => readEntry(one, mention, modules)
    return { door, entries: exported.map(entryOf), mentioned: others.map(entryOf) }
  })
}

function exportedBy(file: string, modules: Modules): Map<string, { name: string; declared: Declared }> {
  return new Map(
    [...new Set(modules.exportsOf(file))].flatMap((name) => {
      const declared = modules.origin(file, name)
      return declared === undefined ? [] : [[idOf(declared), { name, declared }]]
    }),
  )
}

function typesMentionedBy(
  first: readonly Declared[],
  modules: Modules,
  isWanted: (one: Declared) => boolean,
): Declared[] {
  const reached = new Map<string, Declared>()
  const open = [...first]
  for (let next = open.pop(); next; next = open.pop()) {
    for (const found of mentionsOf(next, modules)) {
      if (reached.has(idOf(found)) || !isWanted(found)) continue
      reached.set(idOf(found), found)
      open.push(found)
    }
  }
  return [...reached.values()].sort((a, b) => a.name.localeCompare(b.name))
}

function mentionsOf(declared: Declared, modules: Modules): Declared[] {
  const { module } = declared
  const names = new Set(shownStatements(declared).flatMap(typeNamesIn))
  return [...names].flatMap((name) => modules.behind(module, name) ?? []).filter(isType)
}

function isType(declared: Declared): boolean {
  return statementsOf(declared).some((statement) =>
    /^TS(?:Interface|TypeAlias)Declaration$|^ClassDeclaration$/.test(declarationOf(statement).type),
  )
}

function isClass(declared: Declared): boolean {
  return statementsOf(declared).some((one) => declarationOf(one).type === 'ClassDeclaration')
}

function typeNamesIn(node: Node): string[] {
  if (isHidden(node)) return []
  const own =
    node.type === 'TSTypeReference' && node.typeName.type === 'Identifier'
      ? [node.typeName.name]
      : node.type === 'TSInterfaceHeritage' && node.expression.type === 'Identifier'
        ? [node.expression.name]
        : node.type === 'ClassDeclaration' && node.superClass?.type === 'Identifier'
          ? [node.superClass.name]
          : []
  return [...own, ...children(node).flatMap(typeNamesIn)]
}

function readEntry(declared: Declared, mention: (one: Declared) => Mention[], modules: Modules): Entry {
  const statements = shownStatements(declared)
  const { module } = declared
  const { name } = mention(declared)[0]!
  const first = statementsOf(declared)[0]!
  const mentions = mentionsOf(declared, modules).flatMap(mention)
  return {
    name,
    kind: kindOf(declarationOf(first)),
    about:
      statementsOf(declared)
        .map((statement) => commentBefore(module, statement))
        .find((text) => text !== '') ?? '',
    code: statements.map((one) => listedValues(declared, one) ?? shownCode(module, one)).join('\n'),
    members: statements.flatMap((statement) => membersOf(module, declarationOf(statement))),
    mentions: mentions.filter((one) => one.name !== name).sort((a, b) => a.name.localeCompare(b.name)),
  }
}

/** Of an overloaded function the last statement is its code: a caller never sees that signature. */
function shownStatements(declared: Declared): Statement[] {
  const statements = statementsOf(declared)
  const overloads = statements.filter((one) => declarationOf(one).type === 'TSDeclareFunction')
  return overloads.length > 0 ? overloads : statements
}

function declarationOf(statement: Statement): Node {
  return statement.type === 'ExportNamedDeclaration' && statement.declaration
    ? statement.declaration
    : statement
}

function kindOf(declaration: Node): Kind {
  switch (declaration.type) {
    case 'TSInterfaceDeclaration':
      return 'interface'
    case 'TSTypeAliasDeclaration':
      return 'type'
    case 'ClassDeclaration':
      return 'class'
    default:
      return 'function'
  }
}

function membersOf(module: Module, declaration: Node): Member[] {
  if (declaration.type !== 'TSInterfaceDeclaration' && declaration.type !== 'ClassDeclaration') return []
  return declaration.body.body
    .filter((member) => !isHidden(member))
    .flatMap((member) => memberOf(module, member))
}

function memberOf(module: Module, member: Node): Member[] {
  if ('computed' in member && member.computed) return []
  const about = commentBefore(module, member)
  switch (member.type) {
    case 'TSPropertySignature':
    case 'PropertyDefinition': {
      const type = member.typeAnnotation && codeOf(module, member.typeAnnotation.typeAnnotation)
      return [{ name: keyOf(module, member.key) + (member.optional ? '?' : ''), type: type ?? '', about }]
    }
    case 'TSMethodSignature':
    case 'MethodDefinition': {
      if ('kind' in member && member.kind === 'constructor') return [constructorOf(module, member, about)]
      const name = keyOf(module, member.key)
      const code = codeOf(module, member)
      return [
        {
          name: name + (member.optional ? '?' : ''),
          type: code.slice(code.indexOf(name) + name.length).replace(/^\?/, ''),
          about,
        },
      ]
    }
    default:
      return []
  }
}

function constructorOf(module: Module, member: Node, about: string): Member {
  return { name: 'constructor', type: codeOf(module, member).replace(/^constructor/, ''), about }
}

function keyOf(module: Module, key: Node): string {
  const code = module.code.slice(key.start, key.end)
  return key.type === 'Identifier' ? code : `[${code}]`
}

/** The doc comment that stands right before a node. */
function commentBefore(module: Module, { start }: Span): string {
  // Rules of the linter may be switched off in between.
  const between = (end: number) => module.code.slice(end, start).replaceAll(/^\s*\/\/ biome-ignore.*$/gm, '')
  const comment = module.comments.findLast(
    ({ type, value, end }) =>
      type === 'Block' && value.startsWith('*') && end <= start && between(end).trim() === '',
  )
  return comment === undefined ? '' : textOf(comment.value)
}

function textOf(comment: string): string {
  return comment
    .slice(1)
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .replaceAll(/\{@link ([^}]*)\}/g, '`$1`')
    .replaceAll(/^@(\w+) /gm, (_, tag: string) => `**${tag[0]!.toUpperCase()}${tag.slice(1)}**: `)
    .trim()
}

/** In one line, without comments, bodies and line breaks. */
function codeOf(module: Module, node: Node): string {
  return withoutHidden(module, node, true)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([,)>])/g, '$1')
    .replaceAll(/([(<]) /g, '$1')
    .replaceAll(/,([)>])/g, '$1')
    .replace(/^\| /, '')
    .trim()
}

/** As in a file of declarations: doc comments of its parts stay, bodies go. */
function shownCode(module: Module, statement: Statement): string {
  const declaration = declarationOf(statement)
  return withoutHidden(module, declaration, false)
    .replace(/^async /, '')
    .replaceAll(/^\s*\/\/ biome-ignore.*\n/gm, '')
    .replaceAll(/^[ \t]+\n/gm, '')
    .trim()
}

function withoutHidden(module: Module, node: Node, dropComments: boolean): string {
  const gone: Span[] = [
    ...hiddenIn(node),
    ...(dropComments
      ? module.comments.filter(({ start, end }) => start >= node.start && end <= node.end)
      : []),
  ].sort((a, b) => b.start - a.start)
  let code = module.code.slice(node.start, node.end)
  for (const { start, end } of gone) code = code.slice(0, start - node.start) + code.slice(end - node.start)
  return code
}

/** `(typeof STATUSES)[number]` says nothing to a reader who does not see the list. */
function listedValues({ module, name }: Declared, statement: Statement): string | undefined {
  const declaration = declarationOf(statement)
  if (declaration.type !== 'TSTypeAliasDeclaration') return undefined
  const type = declaration.typeAnnotation
  if (type.type !== 'TSIndexedAccessType') return undefined
  const { objectType } = type
  const query = objectType.type === 'TSParenthesizedType' ? objectType.typeAnnotation : objectType
  if (query.type !== 'TSTypeQuery') return undefined
  const list = query.exprName
  const statements = list.type === 'Identifier' ? module.declared.get(list.name) : undefined
  const values = statements?.flatMap((one) => literalsIn(declarationOf(one))) ?? []
  return values.length === 0 ? undefined : `type ${name} = ${values.join(' | ')}`
}

function literalsIn(node: Node): string[] {
  if (node.type === 'Literal') return typeof node.value === 'string' ? [`'${node.value}'`] : []
  return children(node).flatMap(literalsIn)
}
