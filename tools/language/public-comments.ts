import { DOORS, type Module, readModules } from '../public-api/modules.ts'
import { docCommentsOf, reachedFrom, statementsOf } from '../public-api/visible.ts'
import type { Piece } from './sentences.ts'
import { lineFinder } from './syntax.ts'

/** The doc comments that an editor shows to a user: of everything behind the doors, and of the types that these name. */
export function publicCommentPieces(root: string): Piece[] {
  const modules = readModules(root)
  const behindDoors = Object.values(DOORS).flatMap((door) =>
    modules.exportsOf(door).flatMap((name) => modules.origin(door, name) ?? []),
  )
  const pieces = reachedFrom(behindDoors, modules).flatMap((declared) =>
    statementsOf(declared).flatMap((statement) =>
      docCommentsOf(declared.module, statement).flatMap((comment) => piecesOf(declared.module, comment)),
    ),
  )
  const places = new Set<string>()
  return pieces.filter(({ file, line }) => {
    const place = `${file}:${line}`
    return !places.has(place) && places.add(place)
  })
}

function piecesOf(module: Module, { value, start }: { value: string; start: number }): Piece[] {
  const paragraphs = value
    .slice(1)
    .replaceAll(/^[ \t]*\*/gm, '')
    .replaceAll(/```[\s\S]*?```/g, (block) => block.replaceAll(/[^\n]/g, ''))
    .replaceAll(/\{@link ([^}]*)\}/g, '`$1`')
    .split(/(\n\s*\n|\n\s*(?=@|- ))/)
  let line = lineFinder(module.code)(start)
  return paragraphs.flatMap((paragraph): Piece[] => {
    const at = line
    line += paragraph.split('\n').length - 1
    const text = paragraph.replace(/^\s*(?:- |@\w+ (?:\{[^}]*\} )?)/, '').trim()
    return text === '' ? [] : [{ file: module.file, line: at, text }]
  })
}
