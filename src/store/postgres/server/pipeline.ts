import type pg from 'pg'
import { serialize } from 'pg-protocol'

/** One of those that go together. */
export interface WireStatement {
  text: string
  values: readonly WireValue[]
  /** A statement that comes again and again is prepared by this name. */
  name?: string | undefined
  types: pg.CustomTypesConfig
  asArrays: boolean
}

type Plain = string | number | boolean | null | undefined
/** An object is written as JSON. */
export type WireValue = Plain | readonly Plain[] | object

type Row = any

export interface WireAnswer {
  rows: Row[]
  /** How many rows it found or changed. */
  rowCount: number
}

/** How the rows of a statement are read; null: it has none. */
type Shape = { names: string[]; parsers: ((value: string) => unknown)[] } | null

interface Field {
  name: string
  dataTypeID: number
}

/** The driver's own book of what a connection has prepared: each of us would prepare it again, which is an error. */
interface Connection extends pg.Connection {
  parsedStatements: Record<string, string>
}

/** A statement on its way. */
interface Asked extends WireStatement {
  shape: Shape | undefined
  rows: Row[]
  resolve: (answer: WireAnswer) => void
  reject: (error: unknown) => void
}

/** By connection and name, of statements that were run before. */
const shapes = new WeakMap<pg.Connection, Map<string, Shape>>()

const [DESCRIBE, EXECUTE, SYNC] = [serialize.describe({ type: 'P' }), serialize.execute(), serialize.sync()]

/**
 * Statements that leave together and are answered together: the server is woken once, keeps what it has to say until the
 * last of them is done (unless it is much), and so are we. One that fails takes those behind it along: the server passes over
 * them. The driver knows queries that send themselves and hear their own answers, as cursors do; this is one.
 */
export class Pipeline implements pg.Submittable {
  readonly #asked: Asked[] = []
  readonly #over = Promise.withResolvers<void>()
  #answered = 0
  #connection: Connection | undefined
  #shapes = new Map<string, Shape>()
  /** Sent to be prepared, in this order, and not known to be. */
  #preparing: Asked[] = []

  /** When all is answered. */
  get over(): Promise<void> {
    return this.#over.promise
  }

  /** For who reads along. */
  get statements(): readonly WireStatement[] {
    return this.#asked
  }

  /** Before it leaves. */
  add(statement: WireStatement): Promise<WireAnswer> {
    // It would never be answered.
    if (this.#connection !== undefined) return Promise.reject(new Error(`sent too late: ${statement.text}`))
    const { promise, resolve, reject } = Promise.withResolvers<WireAnswer>()
    this.#asked.push({ ...statement, shape: undefined, rows: [], resolve, reject })
    // Not everybody wants to know; that it failed is heard from `over`.
    promise.catch(() => {})
    return promise
  }

  submit(on: pg.Connection): void {
    const connection = on as Connection
    this.#connection = connection
    this.#shapes = shapes.get(connection) ?? this.#shapes
    shapes.set(connection, this.#shapes)
    connection.on('parseComplete', this.#onPrepared)
    const messages = this.#asked.flatMap((asked) => this.#messages(asked, connection))
    // In one piece: each by itself would be a call of the system, and wake the server.
    if (connection.stream.writable) connection.stream.write(Buffer.concat([...messages, SYNC]))
  }

  #messages(asked: Asked, { parsedStatements }: Connection): Buffer[] {
    const { name, text, values } = asked
    const messages: Buffer[] = []
    if (name === undefined || (parsedStatements[name] === undefined && !this.#isBeingPrepared(name))) {
      this.#preparing.push(asked)
      messages.push(serialize.parse({ name: name ?? '', text }))
    }
    messages.push(serialize.bind({ statement: name ?? '', values: values.map(written) }))
    // What its rows look like is asked once.
    asked.shape = name === undefined ? undefined : this.#shapes.get(name)
    if (asked.shape === undefined) messages.push(DESCRIBE)
    messages.push(EXECUTE)
    return messages
  }

  #isBeingPrepared(name: string): boolean {
    return this.#preparing.some((asked) => asked.name === name)
  }

  readonly #onPrepared = () => {
    const { name, text } = this.#preparing.shift()!
    if (name !== undefined) this.#connection!.parsedStatements[name] = text
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    const { types } = this.#current
    this.#know({
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text')),
    })
  }

  #know(shape: Shape): void {
    const { name } = this.#current
    this.#current.shape = shape
    if (name !== undefined) this.#shapes.set(name, shape)
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const asked = this.#current
    try {
      asked.rows.push(readRow(asked.shape!, fields, asked.asArrays))
    } catch (error) {
      // Only who asked for it has to hear that: the others are answered.
      asked.reject(error)
    }
  }

  /** @param completed e.g. { text: 'UPDATE 2' } */
  handleCommandComplete({ text }: { text: string }): void {
    if (this.#current.shape === undefined) this.#know(null)
    const { resolve, rows } = this.#current
    this.#answered += 1
    resolve({ rows, rowCount: Number(/\d+$/.exec(text)?.[0] ?? 0) })
  }

  handleReadyForQuery(): void {
    this.#connection!.off('parseComplete', this.#onPrepared)
    this.#over.resolve()
  }

  handleError(error: unknown): void {
    this.#connection?.off('parseComplete', this.#onPrepared)
    for (const { reject } of this.#asked.slice(this.#answered)) reject(error)
    this.#over.reject(error)
  }

  get #current(): Asked {
    return this.#asked[this.#answered]!
  }
}

function readRow(
  { names, parsers }: NonNullable<Shape>,
  fields: readonly (string | null)[],
  asArrays: boolean,
): Row {
  const row: Row = asArrays ? [] : {}
  for (let at = 0; at < fields.length; at++) {
    const value = fields[at]!
    row[asArrays ? at : names[at]!] = value === null ? null : parsers[at]!(value)
  }
  return row
}

/** As the server reads it. */
function written(value: WireValue): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return `{${value.map(writtenInList).join()}}`
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function writtenInList(value: Plain): string {
  if (value === null || value === undefined) return 'NULL'
  return typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : String(value)
}
