import type { Terminal } from './terminal.ts'

export interface Option {
  type: 'boolean' | 'string'
  short?: string
  /** What stands for the value in the help: `--config <file>`. `file` and `folder` are completed as such. */
  value?: string
  /** The values that there are. */
  choices?: readonly string[]
  /** Throws a UsageError when it cannot be. */
  check?: (value: string, flag: string) => void
  about: string
}

export interface Operand {
  name: string
  about: string
  optional?: boolean
  /** As many as one likes. */
  many?: boolean
  choices?: readonly string[]
}

export type Values = Readonly<Record<string, string | boolean | undefined>>

/** Everything about a command: what is parsed, the help, the completion and the reference are made from it. */
export interface Command {
  /** One word, or two: `tasks list`. */
  name: string
  /** One line, for the list of commands. */
  summary: string
  operands: readonly Operand[]
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

export const CONFIG_OPTIONS = {
  config: {
    type: 'string',
    short: 'c',
    value: 'file',
    about: 'The config. Default: the nearest gleaner.config.ts, .js or .mjs, in this folder or above.',
  },
  'trust-config': {
    type: 'boolean',
    about: 'Execute the nearest config although another user owns it or could have written it.',
  },
} as const satisfies Command['options']

/** Of the commands that run until you stop them. */
export const LOG_OPTIONS = {
  verbose: {
    type: 'boolean',
    short: 'v',
    about: 'Also log each task and row that completes. Failed attempts are always logged.',
  },
  quiet: { type: 'boolean', short: 'q', about: 'Log only warnings and errors, failed attempts included.' },
  json: { type: 'boolean', about: 'Write the log to stdout as JSON, one object a line (pino).' },
} as const satisfies Command['options']

export const JSON_OPTION: Option = { type: 'boolean', about: 'Print JSON, for other programs.' }

/** Which Gleaner: the database of a config, or a server. */
export const PLACE_OPTIONS = {
  ...CONFIG_OPTIONS,
  url: {
    type: 'string',
    short: 'u',
    value: 'url',
    about: 'Ask a running server instead of the database, e.g. http://127.0.0.1:8356.',
  },
  token: {
    type: 'string',
    value: 'token',
    about: 'Your token for the server. Other users of this machine can see it: prefer GLEANER_TOKEN.',
  },
} as const satisfies Command['options']

export const YES_OPTION: Option = { type: 'boolean', short: 'y', about: 'Do not ask for confirmation.' }

export function text(value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
