import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type Comment, type Node, parseSync, type Statement } from 'oxc-parser'
import type { Piece } from './sentences.ts'
import { children, lineFinder } from './syntax.ts'

/** What a user can import. */
export const DOORS = ['src/index.ts', 'src/testing/index.ts', 'src/http/index.ts', 'src/telemetry/index.ts']

interface Span {
  start: number
  end: number
}

interface Module {
  file: string
  code: string
  comments: Comment[]
  /** Statements by the names that they declare. */
  declared: Map<string, Statement[]>
  /** Where a name of this module comes from. */
  imported: Map<string, { file: string; name: string }>
  /** Names under which others import them. */
  exported: Map<string, { file: string; name: string }>
  /** `export * from` */
  passedOn: string[]
}

/** The doc comments that an editor shows to a user: of everything behind the doors, and of the types that these name. */
export function publicCommentPieces(root: string, doors = DOORS): Piece[] {
  const modules = new Map<string, Module | undefined>()
  const moduleOf = (file: string): Module | undefined => {
    if (!modules.has(file)) modules.set(file, readModule(root, file))
    return modules.get(file)
  }
  const origin = (file: string, name: string): { module: Module; name: string } | undefined => {
    const module = moduleOf(file)
    if (!module) return undefined
    const way = module.exported.get(name)
    if (way) return way.file === file ? here(module, way.name) : origin(way.file, way.name)
    for (const other of module.passedOn) {
      const found = origin(other, name)
      if (found) return found
    }
    return undefined
  }
  const here = (module: Module, name: string): { module: Module; name: string } | undefined => {
    if (module.declared.has(name)) return { module, name }
    const from = module.imported.get(name)
    return from && origin(from.file, from.name)
  }

  const seen = new Set<string>()
  const pieces: Piece[] = []
  const open = doors.flatMap((door) =>
    namesBehind(door, moduleOf).flatMap((name) => origin(door, name) ?? []),
  )
  for (let next = open.pop(); next; next = open.pop()) {
    const { module, name } = next
    if (seen.has(`${module.file} ${name}`)) continue
    seen.add(`${module.file} ${name}`)
    for (const statement of module.declared.get(name)!) {
      pieces.push(...commentsOf(module, statement))
      for (const named of namesIn(statement)) {
        const found = here(module, named)
        if (found) open.push(found)
      }
    }
  }
  const places = new Set<string>()
  return pieces.filter(({ file, line }) => {
    const place = `${file}:${line}`
    return !places.has(place) && places.add(place)
  })
}

function namesBehind(file: string, moduleOf: (file: string) => Module | undefined): string[] {
  const module = moduleOf(file)
  if (!module) return []
  return [...module.exported.keys(), ...module.passedOn.flatMap((other) => namesBehind(other, moduleOf))]
}

function readModule(root: string, file: string): Module | undefined {
  const path = join(root, file)
  if (!existsSync(path)) return undefined
  const code = readFileSync(path, 'utf8')
  const { program, comments } = parseSync(file, code)
  const module: Module = {
    file,
    code,
    comments,
    declared: new Map(),
    imported: new Map(),
    exported: new Map(),
    passedOn: [],
  }
  const resolve = (specifier: string) =>
    specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : undefined

  for (const statement of program.body) {
    const source = 'source' in statement && statement.source ? resolve(statement.source.value) : undefined
    if (statement.type === 'ImportDeclaration') {
      for (const specifier of statement.specifiers)
        if (source !== undefined && specifier.type === 'ImportSpecifier')
          module.imported.set(specifier.local.name, { file: source, name: nameOf(specifier.imported) })
    } else if (statement.type === 'ExportAllDeclaration') {
      if (source !== undefined) module.passedOn.push(source)
    } else {
      for (const name of declaredNames(statement)) {
        module.declared.set(name, [...(module.declared.get(name) ?? []), statement as Statement])
        if (statement.type === 'ExportNamedDeclaration') module.exported.set(name, { file, name })
      }
      if (statement.type === 'ExportNamedDeclaration')
        for (const { local, exported } of statement.specifiers)
          if (!statement.source || source !== undefined)
            module.exported.set(nameOf(exported), { file: source ?? file, name: nameOf(local) })
    }
  }
  return module
}

function nameOf(node: Node): string {
  return node.type === 'Identifier' ? node.name : node.type === 'Literal' ? String(node.value) : ''
}

function declaredNames(statement: Node): string[] {
  const declaration =
    statement.type === 'ExportNamedDeclaration' && statement.declaration ? statement.declaration : statement
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
  if ('id' in declaration && declaration.id && 'name' in declaration.id)
    return [declaration.id.name as string]
  return []
}

/** What a user never sees of a declaration: the bodies of its functions, and what is private. */
function isHidden(node: Node): boolean {
  if (node.type === 'BlockStatement') return true
  if ('accessibility' in node && node.accessibility === 'private') return true
  return 'key' in node && (node.key as Node | null)?.type === 'PrivateIdentifier'
}

function namesIn(node: Node): string[] {
  if (isHidden(node)) return []
  return [...(node.type === 'Identifier' ? [node.name] : []), ...children(node).flatMap(namesIn)]
}

function hiddenIn(node: Node): Span[] {
  return isHidden(node) ? [node] : children(node).flatMap(hiddenIn)
}

/** Inside of it, or right before it. */
function isPartOf(part: Span, comment: Span, code: string): boolean {
  if (comment.end <= part.start) return code.slice(comment.end, part.start).trim() === ''
  return comment.start >= part.start && comment.end <= part.end
}

function commentsOf(module: Module, statement: Statement): Piece[] {
  const lineAt = lineFinder(module.code)
  const hidden = hiddenIn(statement)
  return module.comments
    .filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
    .filter(({ start, end }) =>
      end <= statement.start
        ? module.code.slice(end, statement.start).trim() === ''
        : start < statement.end && !hidden.some((part) => isPartOf(part, { start, end }, module.code)),
    )
    .flatMap(({ value, start }) => {
      const paragraphs = value
        .slice(1)
        .replaceAll(/^[ \t]*\*/gm, '')
        .replaceAll(/```[\s\S]*?```/g, (block) => block.replaceAll(/[^\n]/g, ''))
        .replaceAll(/\{@link ([^}]*)\}/g, '`$1`')
        .split(/(\n\s*\n|\n\s*(?=@|- ))/)
      let line = lineAt(start)
      return paragraphs.flatMap((paragraph): Piece[] => {
        const at = line
        line += paragraph.split('\n').length - 1
        const text = paragraph.replace(/^\s*(?:- |@\w+ (?:\{[^}]*\} )?)/, '').trim()
        return text === '' ? [] : [{ file: module.file, line: at, text }]
      })
    })
}
