import type { Terminal } from './terminal.ts'

export interface Option {
  type: 'boolean' | 'string'
  short?: string
  /** What stands for the value in the help: `--config <file>`. */
  value?: string
  about: string
}

export type Values = Readonly<Record<string, string | boolean | undefined>>

export interface Command {
  name: string
  /** One line, for the list of commands. */
  summary: string
  /** What follows the name: `[queue]`. */
  operands: string
  operandsMax: number
  about: string
  options: Readonly<Record<string, Option>>
  examples: readonly (readonly [command: string, about: string])[]
  /** Beyond 0, 1 and 2. */
  exits?: readonly (readonly [code: string, about: string])[]
  /** Answers the exit code. */
  run(operands: readonly string[], values: Values, terminal: Terminal): Promise<number>
}

/** Wrong usage: told in a line, with exit code 2. */
export class UsageError extends Error {
  readonly hint: string | undefined
  constructor(message: string, hint?: string) {
    super(message)
    this.hint = hint
  }
}

export const CONFIG_OPTION: Option = {
  type: 'string',
  short: 'c',
  value: 'file',
  about: 'The config; default: the nearest gleaner.config.ts, .js or .mjs from here upwards.',
}

export const JSON_OPTION: Option = { type: 'boolean', about: 'As JSON, for other programs.' }

export function text(value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
