import { checkName, shown } from '../define/names.ts'
import { InputError } from '../errors.ts'
import { ROLES, type Role } from '../model/action.ts'
import { declareOptions, knownOptions } from '../options.ts'

/** A caller that sends this token has this role. The name appears in the record of actions. */
export interface AccessToken {
  /** The name of the caller, in letters, digits, dots, colons, dashes and underscores. */
  name: string
  /** `'viewer'` reads everything. `'operator'` also changes things. `'worker'` only pulls work, from its `queues` and `discoveries`. */
  role: Role
  /** At least 16 characters; `openssl rand -hex 32` prints a good one. */
  token: string
  /** The caller may change only tasks of these queues. Reading is not limited. Default: all queues. */
  queues?: readonly string[]
  /** The discoveries whose rows the caller may pull. Default: all, or none if `queues` is set or the role is `'worker'`. */
  discoveries?: readonly string[]
}

/** A list, or the older form with one token for each role. */
export type Tokens = readonly AccessToken[] | { operator?: string | null; viewer?: string | null }

/** The roles of the older form, which cannot limit a caller. */
const OLDER_ROLES = ['viewer', 'operator'] as const
const TOKEN_MIN = 16
const EXAMPLE = "tokens: [{ name: 'ci', role: 'operator', token: process.env.CI_TOKEN }]"

/** Null: a token of the older form, which has no name. */
export type CheckedToken = Omit<AccessToken, 'name'> & { name: string | null }

/** `where` is the option, for error messages. */
export function checkTokens(tokens: unknown, where: string): CheckedToken[] {
  if (Array.isArray(tokens)) return checkTokenList(tokens, where)
  if (typeof tokens !== 'object' || tokens === null)
    throw badToken(`${where}: ${shown(tokens)} is not a list of tokens`, `Use ${EXAMPLE}.`)
  const unknown = Object.keys(tokens).find((name) => !(OLDER_ROLES as readonly string[]).includes(name))
  if (unknown !== undefined)
    throw badToken(`${where}.${unknown}: there is no such role`, `Use a list: ${EXAMPLE}.`)
  const byRole = tokens as Partial<Record<Role, string | null>>
  return OLDER_ROLES.flatMap((role) => {
    const token = byRole[role]
    if (token === undefined || token === null) return []
    return [{ name: null, role, token: checkSecret(token, `the ${role} token`) }]
  })
}

export function checkTokenList(tokens: unknown, where: string): AccessToken[] {
  if (!Array.isArray(tokens))
    throw badToken(`${where}: ${shown(tokens)} is not a list of tokens`, `Use ${EXAMPLE}.`)
  const checked = tokens.map((one, index) => checkToken(one, `${where}[${index}]`))
  const twice = checked.find((one, index) => checked.findIndex(({ name }) => name === one.name) !== index)
  if (twice !== undefined)
    throw badToken(
      `${where}: two tokens have the name ${shown(twice.name)}`,
      'Give each token a name of its own.',
    )
  return checked
}

const TOKEN = declareOptions<AccessToken>('tokens', {
  name: true,
  role: true,
  token: true,
  queues: true,
  discoveries: true,
})

function checkToken(one: unknown, where: string): AccessToken {
  if (typeof one !== 'object' || one === null)
    throw badToken(`${where}: ${shown(one)} is not a token`, `Use ${EXAMPLE}.`)
  const unknown = Object.keys(one).find((name) => !TOKEN.names.includes(name))
  if (unknown !== undefined)
    throw badToken(`${where}.${unknown} is not an option`, knownOptions(unknown, TOKEN.names))
  const { name, role, token, queues, discoveries } = one as Record<string, unknown>
  if (!(ROLES as readonly unknown[]).includes(role))
    throw badToken(`${where}.role: ${shown(role)} is not a role`, `Use ${ROLES.join(' or ')}.`)
  const limits = {
    ...namesOf(queues, `${where}.queues`, 'queues'),
    ...namesOf(discoveries, `${where}.discoveries`, 'discoveries'),
  }
  if (role === 'worker' && Object.values(limits).every((names) => names.length === 0))
    throw badToken(`${where}: a worker needs queues or discoveries`, "Name what it may pull: queues: ['ml'].")
  return {
    name: checkName(name, `${where}.name`, 'BAD_OPTION'),
    role: role as Role,
    token: checkSecret(token, `the token of ${where}`),
    ...limits,
  }
}

function namesOf<N extends string>(value: unknown, where: string, what: N): { [name in N]?: string[] } {
  if (value === undefined) return {}
  if (!Array.isArray(value))
    throw badToken(`${where}: ${shown(value)} is not a list`, `Use names: ${what}: ['mail'].`)
  const names = value.map((one, index) => checkName(one, `${where}[${index}]`, 'BAD_OPTION'))
  return { [what]: names } as { [name in N]?: string[] }
}

export function checkSecret(token: unknown, what: string): string {
  const hint =
    'Use at least 16 letters, digits and signs without spaces, e.g. the output of `openssl rand -hex 32`.'
  // What a header can carry.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,1000}$/.test(token))
    throw badToken(`${what} is not valid`, hint)
  if (token.length < TOKEN_MIN)
    throw badToken(`${what} has ${token.length} characters, which is too short`, hint)
  return token
}

function badToken(message: string, hint: string): InputError {
  return new InputError(message, { code: 'BAD_OPTION', hint })
}
