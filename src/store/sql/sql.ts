/**
 * A piece of SQL with the values in it. The text is PostgreSQL's: tables are `gleaner.<name>` and functions `pg_catalog.<name>`.
 * Each dialect writes names and parameters as its database reads them.
 */
export class Fragment {
  /** One more than there are values: `values[i]` stands behind `texts[i]`. */
  readonly texts: readonly string[]
  readonly values: readonly Value[]

  constructor(texts: readonly string[], values: readonly Value[]) {
    this.texts = texts
    this.values = values
  }
}

export type Value = string | number | boolean | null | readonly (string | number)[]

/** A value becomes a parameter, and a fragment becomes part of the text. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Value | Fragment)[]): Fragment {
  const texts: string[] = []
  const values: Value[] = []
  let text = strings[0]!
  for (const [index, part] of parts.entries()) {
    if (part instanceof Fragment) {
      const [first, ...others] = part.texts
      text += first!
      for (const other of others) {
        texts.push(text)
        text = other
      }
      values.push(...part.values)
    } else {
      texts.push(text)
      text = ''
      values.push(part)
    }
    text += strings[index + 1]!
  }
  return new Fragment([...texts, text], values)
}

/** SQL as it stands. Never pass a text that comes from outside. */
export function verbatim(text: string): Fragment {
  return new Fragment([text], [])
}

/** Stands in names of the user that the dialects would otherwise read as their own. No SQL holds it, and `sent` removes it. */
const AS_WRITTEN = '\0'

/** SQL that holds conditions, tables or columns of the user: no dialect changes a name in it. */
export function ofUser(text: string): Fragment {
  return verbatim(text.replaceAll(/(?<=\b(?:gleaner|pg_catalog))\./g, `${AS_WRITTEN}.`))
}

/** A text as the database gets it, after the dialect has changed the names. */
export function sent(text: string): string {
  return text.replaceAll(AS_WRITTEN, '')
}

/** SQL of the user that is written around an expression, for example a condition on the key of a row. */
export function around(inner: Fragment, write: (expression: string) => string): Fragment {
  const [first, ...others] = write(HERE).split(HERE)
  return others.reduce((all, next) => sql`${all}${inner}${ofUser(next)}`, ofUser(first!))
}

const HERE = '\u0001'

/** For example conditions with ` AND ` between them. */
export function joined(pieces: readonly Fragment[], between: string): Fragment {
  return pieces.reduce((all, piece) => sql`${all}${verbatim(between)}${piece}`)
}
