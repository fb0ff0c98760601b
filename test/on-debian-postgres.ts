// npm run postgres:debian -- <command> [arguments]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { installedPostgres, startInstalledPostgres } from './installed-postgres.ts'

const HELP = `npm run postgres:debian -- <command> [arguments]

  Starts the installed PostgreSQL server with its stock settings in a temporary folder, runs the command with
  GLEANER_TEST_POSTGRES_URL and GLEANER_BENCH_POSTGRES_URL set, and stops the server.

  GLEANER_POSTGRES_BIN   the folder that holds initdb and postgres; default: the newest one of Debian's packages
  GLEANER_POSTGRES_USER  the system user that runs the server, if you are root; default: postgres

Examples:
  npm run postgres:debian -- npx vitest run test/store/postgres
  npm run postgres:debian -- npm run bench -- postgres --only drain-1`

const [program, ...args] = process.argv.slice(2)
const bin = installedPostgres()
if (program === undefined || program === '--help') {
  console.error(HELP)
  process.exitCode = program === undefined ? 2 : 0
} else if (bin === undefined) {
  console.error('There is no PostgreSQL server below /usr/lib/postgresql. Run: apt-get install postgresql')
  process.exitCode = 2
} else {
  process.exitCode = await runBesideServer(bin, program)
}

async function runBesideServer(folder: string, command: string): Promise<number> {
  const { url, stop } = await startInstalledPostgres(folder)
  try {
    const env = { ...process.env, GLEANER_TEST_POSTGRES_URL: url, GLEANER_BENCH_POSTGRES_URL: url }
    const child = spawn(command, args, { env, stdio: 'inherit' })
    // A terminal sends it to the command as well. The server is stopped when the command has ended.
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    const [code, signal] = await once(child, 'exit')
    return code ?? 128 + constants.signals[signal as NodeJS.Signals]
  } catch (error) {
    console.error(`${command}: ${(error as Error).message}`)
    return 127
  } finally {
    await stop()
  }
}
