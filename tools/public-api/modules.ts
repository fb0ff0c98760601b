import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type Comment, type Node, parseSync, type Statement } from 'oxc-parser'

/** What a user can import, by the name of the door. */
export const DOORS: Readonly<Record<string, string>> = {
  gleaner: 'src/index.ts',
  'gleaner/testing': 'src/testing/index.ts',
  'gleaner/http': 'src/http/index.ts',
  'gleaner/health': 'src/health/index.ts',
  'gleaner/supervisor': 'src/supervisor/index.ts',
  'gleaner/telemetry': 'src/telemetry/index.ts',
}

interface Origin {
  file: string
  name: string
}

export interface Module {
  file: string
  code: string
  comments: Comment[]
  /** Statements by the names that they declare. */
  declared: Map<string, Statement[]>
  /** Where a name of this module comes from. */
  imported: Map<string, Origin>
  /** Names under which others import them. */
  exported: Map<string, Origin>
  /** `export * from` */
  passedOn: string[]
}

/** A name, in the module that declares it. */
export interface Declared {
  module: Module
  name: string
}

export interface Modules {
  /** Every name that a module exports, also those it passes on. */
  exportsOf(file: string): string[]
  /** Where the name that `file` exports is declared; undefined if that is another package. */
  origin(file: string, name: string): Declared | undefined
  /** Where a name that `module` uses is declared; undefined if that is another package, or the language. */
  behind(module: Module, name: string): Declared | undefined
}

/** The modules of a checkout, each read when it is first asked for. */
export function readModules(root: string): Modules {
  const modules = new Map<string, Module | undefined>()
  const moduleOf = (file: string): Module | undefined => {
    if (!modules.has(file)) modules.set(file, readModule(root, file))
    return modules.get(file)
  }
  const origin = (file: string, name: string): Declared | undefined => {
    const module = moduleOf(file)
    if (!module) return undefined
    const way = module.exported.get(name)
    if (way) return way.file === file ? behind(module, way.name) : origin(way.file, way.name)
    for (const other of module.passedOn) {
      const found = origin(other, name)
      if (found) return found
    }
    return undefined
  }
  const behind = (module: Module, name: string): Declared | undefined => {
    if (module.declared.has(name)) return { module, name }
    const from = module.imported.get(name)
    return from && origin(from.file, from.name)
  }
  const exportsOf = (file: string): string[] => {
    const module = moduleOf(file)
    return module ? [...module.exported.keys(), ...module.passedOn.flatMap(exportsOf)] : []
  }
  return { exportsOf, origin, behind }
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
  for (const statement of program.body) addStatement(module, statement as Statement)
  return module
}

function addStatement(module: Module, statement: Statement): void {
  const { file } = module
  const source =
    'source' in statement && statement.source ? resolved(file, statement.source.value) : undefined
  if (statement.type === 'ImportDeclaration') {
    for (const specifier of statement.specifiers)
      if (source !== undefined && specifier.type === 'ImportSpecifier')
        module.imported.set(specifier.local.name, { file: source, name: nameOf(specifier.imported) })
    return
  }
  if (statement.type === 'ExportAllDeclaration') {
    if (source !== undefined) module.passedOn.push(source)
    return
  }
  for (const name of declaredNames(statement)) {
    module.declared.set(name, [...(module.declared.get(name) ?? []), statement])
    if (statement.type === 'ExportNamedDeclaration') module.exported.set(name, { file, name })
  }
  if (statement.type !== 'ExportNamedDeclaration') return
  for (const { local, exported } of statement.specifiers)
    if (!statement.source || source !== undefined)
      module.exported.set(nameOf(exported), { file: source ?? file, name: nameOf(local) })
}

function resolved(file: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : undefined
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
