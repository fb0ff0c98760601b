import { existsSync } from 'node:fs'
import { loadConfig } from '../../config/load.ts'
import type { Config } from '../../config/types.ts'
import { openGleaner } from '../../engine/open.ts'
import { checkPostgres } from '../../engine/settings.ts'
import { StoreError } from '../../errors.ts'
import { type Client, connect } from '../../http/client.ts'
import { ownTokenFile, readOwnToken } from '../../http/own-token.ts'
import { redactor } from '../../http/protocol/redact.ts'
import { isLoopback } from '../../http/protocol/request-origin.ts'
import { diagnose } from '../../store/by-url/diagnosis.ts'
import { sqlitePath } from '../../store/by-url/open.ts'
import { checkSqlite } from '../../store/sqlite/drivers/load.ts'
import { text, UsageError, type Values } from '../console/command.ts'
import { withoutPassword } from '../console/database-name.ts'
import { wordsOf } from '../console/error-words.ts'
import type { Terminal } from '../console/terminal.ts'
import type { Operations } from './contract.ts'
import { directOperations } from './direct.ts'
import { listenersOn } from './listeners.ts'
import { redacted } from './redacted.ts'
import { remoteOperations } from './remote.ts'

/** For as long as `use` takes: a server, if one is named, or the database of the config. */
export async function withOperations<T>(
  values: Values,
  terminal: Terminal,
  use: (operations: Operations) => Promise<T>,
): Promise<T> {
  const { env } = terminal
  const url = text(values.url) ?? (env.GLEANER_URL || undefined)
  if (url !== undefined) {
    const token =
      text(values.token) ?? (env.GLEANER_TOKEN || (await tokenOfThisMachine(url, values, terminal)))
    return use(remoteOperations(connected(url, token)))
  }
  const config = await configOf(values, terminal)
  await mustBeThere(config)
  const { database, durability, postgres, sqlite, retention, timings } = config.engine
  const gleaner = await openGleaner({ database, durability, postgres, sqlite, retention, timings })
  try {
    const redact = redactor(config.server?.redact ?? [])
    return await use(redacted(directOperations(gleaner, config), redact))
  } finally {
    await gleaner.close()
  }
}

/** The token that `gleaner start` made for the database of the config. It is sent to servers on this machine only. */
async function tokenOfThisMachine(
  url: string,
  values: Values,
  terminal: Terminal,
): Promise<string | undefined> {
  if (!URL.canParse(url) || !isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''))) return undefined
  const config = await configOf(values, terminal).catch(() => null)
  const file = config === null ? null : ownTokenFile(config.engine.database, terminal.env)
  const token = file === null ? null : readOwnToken(file)
  if (token === null) return undefined
  refuseForeignServer(url)
  return token
}

/** While our server does not run, any user of the machine can listen on its port, and wait for the token. */
function refuseForeignServer(url: string): void {
  const { port, protocol } = new URL(url)
  const users = listenersOn(Number(port || (protocol === 'https:' ? 443 : 80))) ?? []
  const foreign = users.find((user) => user !== 0 && user !== process.getuid?.())
  if (foreign === undefined) return
  throw new UsageError(
    `the server at ${url} belongs to another user (${foreign}), so it does not get the token of your database`,
    'If you trust this server, pass its token with --token or GLEANER_TOKEN.',
  )
}

function connected(url: string, token: string | undefined): Client {
  try {
    return connect(url, token)
  } catch (error) {
    const [message, hint] = wordsOf(error)
    throw new UsageError(`--url: ${message}`, hint)
  }
}

export function configOf(values: Values, { cwd, env }: Terminal): Promise<Config> {
  return loadConfig(text(values.config), { cwd, env, trust: values['trust-config'] === true })
}

/** Whoever looks or steers makes no database: a path that is wrong would be answered with an empty one. */
export async function mustBeThere({ engine, path }: Config): Promise<void> {
  const { database } = engine
  const name = withoutPassword(database)
  const file = sqlitePath(database)
  if (file === ':memory:')
    throw new StoreError('only the process that opened a database in memory can see it', {
      code: 'BAD_CONFIG',
      hint: `Name a file in ${path}, e.g. 'sqlite:./app.db'.`,
    })
  if (file !== undefined && !existsSync(file))
    throw new StoreError(`there is no database ${name}`, {
      code: 'STORE_AWAY',
      hint: `\`gleaner start\` or \`gleaner migrate\` creates it. If it is in another place, change \`database\` in ${path}, or set GLEANER_DATABASE.`,
    })
  const { version, latest } = await diagnose(database, {
    postgres: checkPostgres(engine.postgres ?? {}),
    sqlite: checkSqlite(engine.sqlite ?? {}),
  })
  if (version === latest) return
  throw new StoreError(
    version
      ? `${name} has version ${version}, and this Gleaner needs version ${latest}`
      : `${name} does not have Gleaner's tables`,
    {
      code: 'STORE_MIGRATION',
      hint: version
        ? 'Update it with `gleaner migrate`, or with the next `gleaner start`.'
        : `\`gleaner start\` or \`gleaner migrate\` creates them. If they are in another database, change \`database\` in ${path}, or set GLEANER_DATABASE.`,
    },
  )
}
