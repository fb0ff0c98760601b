import { shown } from '../define/names.ts'
import { durationMs } from '../duration.ts'
import { InputError } from '../errors.ts'
import { knownOptions, type Options } from '../options.ts'

/** What a config says at one place, read field by field; an error names the place. */
export class Fields {
  readonly #values: Record<string, unknown>
  readonly #where: string

  /** Undefined: nothing was said at this place. `names`: the fields it may have. */
  constructor(value: unknown, where: string, { names }: Options, example: string) {
    this.#where = where
    if (value !== undefined && !isObject(value))
      throw badField(where, value, `Use an object, e.g. ${example}.`)
    this.#values = value ?? {}
    const unknown = Object.keys(this.#values).find((name) => !names.includes(name))
    if (unknown !== undefined)
      throw badField(`${this.at(unknown)}`, undefined, knownOptions(unknown, names), 'is not an option')
  }

  at(name: string): string {
    return this.#where === '' ? name : `${this.#where}.${name}`
  }

  get(name: string): unknown {
    return this.#values[name]
  }

  whole(name: string, otherwise: number, min: number, max: number): number {
    const value = this.#values[name] ?? otherwise
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max)
      return value as number
    throw badField(this.at(name), value, `Use a whole number from ${min} to ${max}.`)
  }

  wholeIfSaid(name: string, min: number, max: number): number | undefined {
    return this.#values[name] === undefined ? undefined : this.whole(name, min, min, max)
  }

  text(name: string, otherwise: string): string {
    const value = this.#values[name] ?? otherwise
    if (typeof value === 'string' && value !== '') return value
    throw badField(this.at(name), value, 'Use a string that is not empty.')
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.#values[name] ?? otherwise
    if (typeof value === 'boolean') return value
    throw badField(this.at(name), value, 'Use true or false.')
  }

  texts(name: string): readonly string[] {
    const value = this.#values[name] ?? []
    if (Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')) return value
    throw badField(this.at(name), value, 'Use an array of strings.')
  }

  /** At least a millisecond: an interval of none would never rest. */
  intervalMs(name: string): number {
    const ms = durationMs(this.#values[name], this.at(name))
    if (ms >= 1) return ms
    throw badField(this.at(name), this.#values[name], 'Use at least 1 ms.')
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function badField(where: string, value: unknown, hint: string, complaint?: string): InputError {
  const message = complaint === undefined ? `${where}: ${shown(value)} is not valid` : `${where} ${complaint}`
  return new InputError(message, { code: 'BAD_CONFIG', hint })
}
