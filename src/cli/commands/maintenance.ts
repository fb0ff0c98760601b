import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { openGleaner } from '../../engine/open.ts'
import { checkPostgres } from '../../engine/settings.ts'
import { restoreBackup } from '../../maintenance/restore.ts'
import { diagnose } from '../../store/diagnosis.ts'
import { sqlitePath } from '../../store/open.ts'
import { checkSqlite } from '../../store/sqlite/drivers/load.ts'
import type { Finding, UpkeepProgress } from '../../store/upkeep.ts'
import {
  CONFIG_OPTIONS,
  type Command,
  JSON_OPTION,
  PLACE_OPTIONS,
  type Values,
  YES_OPTION,
} from '../command.ts'
import { confirmed } from '../confirm.ts'
import { withoutPassword } from '../database-name.ts'
import { noteServer } from '../note-server.ts'
import { openStoreOf } from '../opening.ts'
import { configOf, mustBeThere, withOperations } from '../operations/open.ts'
import { printJson } from '../printing.ts'
import { type Stage, withProgress } from '../progress.ts'
import type { Terminal } from '../terminal.ts'
import { bytes, duration } from '../words.ts'

const DIRECT = 'It works on the database of the config itself, never through a server.'
const OWN_OPTIONS = { ...CONFIG_OPTIONS, json: JSON_OPTION }

const backup: Command = {
  name: 'backup',
  summary: 'Copy the SQLite database while it is used, and check the copy.',
  operands: [{ name: 'file', about: 'Where the copy goes.' }],
  about:
    'A whole, consistent and verified copy as of now, while everybody goes on working. There is never half a file under ' +
    `that name: killed at any moment, it leaves none, or a whole one. ${DIRECT}\n\n` +
    'PostgreSQL has tools of its own for this: pg_dump.',
  options: { ...OWN_OPTIONS, overwrite: { type: 'boolean', short: 'f', about: 'Replace what is there.' } },
  examples: [
    ['gleaner backup app.backup', 'Beside the config.'],
    ['gleaner backup --overwrite /backups/app.db', 'Every night, over the last one.'],
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
          `backed up ${bytes(done.bytes)} to ${done.path} in ${duration(performance.now() - begin)}; it was checked`,
        )
      return 0
    }),
}

const restore: Command = {
  name: 'restore',
  summary: 'Put a backup in place of the SQLite database.',
  operands: [{ name: 'file', about: 'A backup, made by `gleaner backup`.' }],
  about:
    'Checks the backup, then writes it over the database of the config, which nobody may have open: stop `gleaner start` ' +
    'and every app first; it is refused otherwise, and nothing is changed. Killed at any moment, it leaves the old ' +
    `database or the new one. What happened since the backup is gone, so it asks. ${DIRECT}`,
  options: { ...OWN_OPTIONS, yes: YES_OPTION },
  examples: [['gleaner restore app.backup', 'Back to how it was.']],
  async run([file], values, terminal) {
    const config = await configOf(values, terminal)
    noteServer(terminal)
    const { database, sqlite } = config.engine
    const path = sqlitePath(database)
    if (path !== undefined && existsSync(path)) {
      const question = `Replace all that is in ${withoutPassword(database)}`
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
    else terminal.print(`${withoutPassword(database)} is as it was in ${file}`)
    return 0
  },
}

const check: Command = {
  name: 'check',
  summary: 'Look whether the database is sound.',
  operands: [],
  about:
    'Looks at the file itself (SQLite), and whether everything that must be true of the tables is: counters, claims, ' +
    'keys, limits. A task that is held although no live worker holds it is given back. It takes its time on a large ' +
    'database and holds nobody up. It ends with 1 if it finds something that it cannot repair, and shows some of the rows.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [['gleaner check', 'After a crash of the machine, or before an upgrade.']],
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
  if (findings.length === 0) return style('green', 'the database is sound')
  if (findings.every(({ repaired }) => repaired)) return style('yellow', 'the database is sound again:')
  return style('red', 'not sound:')
}

const optimize: Command = {
  name: 'optimize',
  summary: 'Refresh statistics, and give free space back.',
  operands: [],
  about:
    'Tells the planner what the tables look like now, and gives free space back to the disk where that is quick. With ' +
    `--vacuum also where it is not: nobody can write meanwhile. ${DIRECT}`,
  options: {
    ...OWN_OPTIONS,
    vacuum: { type: 'boolean', about: 'Write the file anew without its free space (SQLite).' },
  },
  examples: [
    ['gleaner optimize', 'Now and then, or after a large `gleaner tasks remove`.'],
    ['gleaner optimize --vacuum', 'When nobody works, to make the file small.'],
  ],
  run: (_operands, values, terminal) =>
    withGleaner(values, terminal, async (gleaner) => {
      const done = await withProgress(terminal, 'optimizing', () =>
        gleaner.maintenance.optimize({ vacuum: values.vacuum === true }),
      )
      if (values.json === true) printJson(done, terminal)
      else {
        const { vacuumed, freeBytes } = done
        const free =
          freeBytes === null ? '' : `; ${bytes(freeBytes)} are free inside it, for new tasks to fill`
        terminal.print(`the database is optimized${vacuumed ? ' and vacuumed' : ''}${free}`)
      }
      return 0
    }),
}

const migrate: Command = {
  name: 'migrate',
  summary: "Make or update Gleaner's tables.",
  operands: [],
  about:
    'Brings the database to the version that this Gleaner needs, in one transaction; `gleaner start` does the same. It makes ' +
    'the SQLite file, or the schema on PostgreSQL, if it is not there. It is refused while workers of an older version ' +
    `are alive, and names them. ${DIRECT}`,
  options: {
    ...OWN_OPTIONS,
    check: { type: 'boolean', about: 'Change nothing; end with 1 if there is something to do.' },
  },
  examples: [
    ['gleaner migrate', 'Before the first start, or in a deploy.'],
    ['gleaner migrate --check', 'Is there anything to do?'],
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
      const before = version ? `version ${version}` : "no tables of Gleaner's"
      terminal.print(
        isCheck
          ? `${name}: ${before}, version ${latest} is needed`
          : `${name}: ${before} before, version ${latest} now`,
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
