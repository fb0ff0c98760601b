import { sent } from '../../sql/sql.ts'

/** Anything that runs SQL: a pool, a client inside a transaction, or a user's own. */
export interface Queryable {
  query(text: string, values?: any[]): Promise<{ rows: any[]; rowCount?: number | null }>
}

/** Texts that are kept: far more than there are that come again and again. */
const TEXTS_MAX = 500

/** SQL in the schema of this store: `gleaner.` stands for it in every text. */
export class Sql {
  readonly schema: string
  readonly raw: Queryable
  /** As they were written, and as they are sent. */
  readonly #texts: Map<string, string>

  constructor(client: Queryable, schema: string, texts = new Map<string, string>()) {
    this.raw = client
    this.schema = schema
    this.#texts = texts
  }

  /** The same tables on another connection. */
  on(client: Queryable): Sql {
    return new Sql(client, this.schema, this.#texts)
  }

  async rows<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.raw.query(this.#named(text), values as unknown[])).rows as Row[]
  }

  async row<Row>(text: string, values: readonly unknown[] = []): Promise<Row | undefined> {
    return (await this.rows<Row>(text, values))[0]
  }

  /** How many rows it changed. */
  async run(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.raw.query(this.#named(text), values as unknown[])).rowCount ?? 0
  }

  #named(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const named = sent(text.replaceAll('gleaner.', `"${this.schema}".`))
    if (this.#texts.size < TEXTS_MAX) this.#texts.set(text, named)
    return named
  }
}

/** No text of PostgreSQL holds a NUL: a statement with one fails, and with it all that it hands in. In JSON it is escaped already. */
export function withoutNul(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** An array of numbers as the server reads it: the driver would look at each of them several times. */
export function numberList(values: readonly (number | string)[]): string {
  return `{${values.join()}}`
}

/** The parser treats `unnest` of several lists as syntax of its own: it always means the server's function, and takes no schema. */
export function unnest(lists: readonly string[]): string {
  return `${lists.length === 1 ? 'pg_catalog.' : ''}unnest(${lists.join(', ')})`
}

/** Control characters, which no JSON text holds: between two, and in place of none. */
const [BETWEEN, NONE] = ['\u001f', '\u001e']

/**
 * Texts as one parameter, and how the server reads them as an array. JSON texts are full of quotes, and the driver, and
 * then the server, would look at each of them: joined as they are, neither does.
 */
export function textList(texts: readonly (string | null)[]): {
  value: unknown
  read: (parameter: string) => string
} {
  const isPlain = (text: string | null) =>
    text === null || (text !== '' && !text.includes(BETWEEN) && !text.includes(NONE))
  if (!texts.every(isPlain)) return { value: texts, read: (parameter) => `${parameter}::text[]` }
  return {
    value: texts.map((text) => text ?? NONE).join(BETWEEN),
    read: (parameter) =>
      `pg_catalog.string_to_array(${parameter}::text, pg_catalog.chr(31), pg_catalog.chr(30))`,
  }
}
