import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { openStoreOf } from '../../config/open-store.ts'
import { openGleaner } from '../../engine/open.ts'
import { checkPostgres } from '../../engine/settings.ts'
import { restoreBackup } from '../../maintenance/restore.ts'
import { diagnose } from '../../store/by-url/diagnosis.ts'
import { sqlitePath } from '../../store/by-url/open.ts'
import type { Finding, UpkeepProgress } from '../../store/ports/maintenance.ts'
import { checkSqlite } from '../../store/sqlite/drivers/load.ts'
import {
  CONFIG_OPTIONS,
  type Command,
  JSON_OPTION,
  PLACE_OPTIONS,
  type Values,
  YES_OPTION,
} from '../console/command.ts'
import { confirmed } from '../console/confirm.ts'
import { withoutPassword } from '../console/database-name.ts'
import { noteServer } from '../console/note-server.ts'
import { printJson } from '../console/printing.ts'
import { type Stage, withProgress } from '../console/progress.ts'
import type { Terminal } from '../console/terminal.ts'
import { bytes, durationText } from '../console/words.ts'
import { configOf, mustBeThere, withOperations } from '../operations/open.ts'

const DIRECT = 'The command opens the database of the config itself, not a server.'
const OWN_OPTIONS = { ...CONFIG_OPTIONS, json: JSON_OPTION }

const backup: Command = {
  name: 'backup',
  summary: 'Copy the database while it is in use, and verify the copy.',
  operands: [{ name: 'file', about: 'The file to write the copy to.' }],
  about:
    'Writes a complete, consistent and verified copy of the database as of now. All processes continue to ' +
    `work. If the command is killed, the file is complete or does not exist. ${DIRECT}\n\nOn PostgreSQL the command ` +
    'runs pg_dump, if it finds one that fits the server, and writes its custom format with all tables of the database. ' +
    'Otherwise the error shows the pg_dump command to run. Restore such a backup with pg_restore.',
  options: { ...OWN_OPTIONS, overwrite: { type: 'boolean', short: 'f', about: 'Replace an existing file.' } },
  examples: [
    ['gleaner backup app.backup', 'Write a backup into this folder.'],
    ['gleaner backup --overwrite /backups/app.db', 'Every night, replace the last backup.'],
  ],
  run: ([file], values, terminal) =>
    withGleaner(values, terminal, async (gleaner) => {
      const path = resolve(terminal.cwd, file!)
      const begin = performance.now()
      const done = await withProgress(terminal, 'copying', (tell) =>
        gleaner.maintenance.backup(path, {
          overwrite: values.overwrite === true,
          onProgress: (progress) => tell(stageOf(progress)),
        }),
      )
      if (values.json === true) printJson(done, terminal)
      else
        terminal.print(
          `backed up ${bytes(done.bytes)} to ${done.path} in ${durationText(performance.now() - begin)}; the copy is verified`,
        )
      return 0
    }),
}

const restore: Command = {
  name: 'restore',
  summary: 'Replace the SQLite database with a backup.',
  operands: [{ name: 'file', about: 'A backup, made by `gleaner backup`.' }],
  about:
    'Verifies the backup, then writes it over the database of the config. No process may have the database ' +
    'open: stop `gleaner start` and every app first. Otherwise the command refuses and changes nothing. If ' +
    'the command is killed, the file holds the old database or the new one. Everything since the backup is ' +
    `lost, so the command asks first. ${DIRECT}`,
  options: { ...OWN_OPTIONS, yes: YES_OPTION },
  examples: [['gleaner restore app.backup', 'Go back to this backup.']],
  async run([file], values, terminal) {
    const config = await configOf(values, terminal)
    noteServer(terminal)
    const { database, sqlite } = config.engine
    const path = sqlitePath(database)
    if (path !== undefined && existsSync(path)) {
      const question = `Replace everything in ${withoutPassword(database)}`
      if (!(await confirmed(question, values, terminal))) return 1
    }
    await withProgress(terminal, 'verifying', (tell) =>
      restoreBackup(resolve(terminal.cwd, file!), {
        database,
        sqlite,
        onProgress: (progress) => tell(stageOf(progress)),
      }),
    )
    if (values.json === true) printJson({ restored: withoutPassword(database), from: file }, terminal)
    else terminal.print(`restored ${withoutPassword(database)} from ${file}`)
    return 0
  },
}

const check: Command = {
  name: 'check',
  summary: 'Check the database for damage and inconsistencies.',
  operands: [],
  about:
    'Checks the file (SQLite), and what must be true of the tables: counters, claims, keys and limits. If a ' +
    'task is held by a worker that no longer exists, the command gives it back. A large database takes a ' +
    'while; all processes continue to work. The command exits with 1 if it finds a problem that it cannot ' +
    'repair, and prints some of the rows.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [['gleaner check', 'Run it after a crash of the machine, and before an upgrade.']],
  run: (_operands, values, terminal) =>
    withOperations(values, terminal, async ({ maintenance }) => {
      const findings = await withProgress(terminal, 'checking', () => maintenance.check())
      if (values.json === true) printJson(findings, terminal)
      else {
        const { print, style } = terminal
        print(verdictOn(findings, style))
        for (const { what, examples, repaired } of findings) {
          print(`  ${what}${repaired ? ' (repaired)' : ''}`)
          for (const example of examples) print(`    ${JSON.stringify(example)}`)
        }
      }
      return findings.every(({ repaired }) => repaired) ? 0 : 1
    }),
}

function verdictOn(findings: readonly Finding[], style: Terminal['style']): string {
  if (findings.length === 0) return style('green', 'the database has no problems')
  if (findings.every(({ repaired }) => repaired)) return style('yellow', 'all problems are repaired:')
  return style('red', 'the database has problems:')
}

const optimize: Command = {
  name: 'optimize',
  summary: 'Refresh statistics, and return free space to the disk.',
  operands: [],
  about:
    'Refreshes the statistics of the query planner, and returns free space to the disk if that is quick. ' +
    `With --vacuum it also rewrites the whole file, and no process can write until it is done. ${DIRECT}`,
  options: {
    ...OWN_OPTIONS,
    vacuum: { type: 'boolean', about: 'Rewrite the file without its free space (SQLite).' },
  },
  examples: [
    ['gleaner optimize', 'Run it now and then, or after a large `gleaner tasks remove`.'],
    ['gleaner optimize --vacuum', 'Make the file small, at a quiet time.'],
  ],
  run: (_operands, values, terminal) =>
    withGleaner(values, terminal, async (gleaner) => {
      const done = await withProgress(terminal, 'optimizing', () =>
        gleaner.maintenance.optimize({ vacuum: values.vacuum === true }),
      )
      if (values.json === true) printJson(done, terminal)
      else {
        const { vacuumed, freeBytes } = done
        const free = freeBytes === null ? '' : `; ${bytes(freeBytes)} in the file are free for new tasks`
        terminal.print(`the database is optimized${vacuumed ? ' and vacuumed' : ''}${free}`)
      }
      return 0
    }),
}

const migrate: Command = {
  name: 'migrate',
  summary: "Create or update Gleaner's tables.",
  operands: [],
  about:
    'Updates the database to the version that this Gleaner needs, in one transaction. `gleaner start` does ' +
    'the same. If the SQLite file or the schema on PostgreSQL does not exist, the command creates it. While ' +
    `workers of an older version are alive, the command refuses and names them. ${DIRECT}`,
  options: {
    ...OWN_OPTIONS,
    check: { type: 'boolean', about: 'Change nothing. Exit with 1 if an update is needed.' },
  },
  examples: [
    ['gleaner migrate', 'Run it before the first start, or in a deploy.'],
    ['gleaner migrate --check', 'Check whether an update is needed.'],
  ],
  async run(_operands, values, terminal) {
    const config = await configOf(values, terminal)
    noteServer(terminal)
    const { database, postgres, sqlite } = config.engine
    const name = withoutPassword(database)
    const { version, latest } = await diagnose(database, {
      postgres: checkPostgres(postgres ?? {}),
      sqlite: checkSqlite(sqlite ?? {}),
    })
    const isCheck = values.check === true
    if (!isCheck && version !== latest) await (await openStoreOf(config)).close()
    if (values.json === true)
      printJson(
        { database: name, before: version, latest, migrated: !isCheck && version !== latest },
        terminal,
      )
    else if (version === latest) terminal.print(`${name} is at version ${latest}: nothing to do`)
    else {
      const before = version ? `version ${version}` : 'no tables'
      terminal.print(
        isCheck
          ? `${name} has ${before}; version ${latest} is needed`
          : `${name} had ${before} and has version ${latest} now`,
      )
    }
    return isCheck && version !== latest ? 1 : 0
  },
}

export const maintenance: readonly Command[] = [backup, restore, check, optimize, migrate]

/** A Gleaner without tasks of its own, on a database that is there. */
async function withGleaner<T>(
  values: Values,
  terminal: Terminal,
  use: (gleaner: Awaited<ReturnType<typeof openGleaner>>) => Promise<T>,
): Promise<T> {
  const config = await configOf(values, terminal)
  noteServer(terminal)
  await mustBeThere(config)
  const { database, durability, postgres, sqlite } = config.engine
  const gleaner = await openGleaner({ database, durability, postgres, sqlite })
  try {
    return await use(gleaner)
  } finally {
    await gleaner.close()
  }
}

function stageOf({ phase, fraction }: UpkeepProgress): Partial<Stage> {
  return { label: phase, fraction }
}
