import { checkPostgres } from '../../engine/settings.ts'
import { copyDatabase } from '../../maintenance/copy.ts'
import type { Copied } from '../../store/copied-tables.ts'
import { checkSqlite } from '../../store/sqlite/drivers/load.ts'
import { CONFIG_OPTIONS, type Command, JSON_OPTION, text, UsageError } from '../console/command.ts'
import { withoutPassword } from '../console/database-name.ts'
import { noteServer } from '../console/note-server.ts'
import { printJson } from '../console/printing.ts'
import { withProgress } from '../console/progress.ts'
import { durationText, plural } from '../console/words.ts'
import { configOf, mustBeThere } from '../operations/open.ts'

export const copy: Command = {
  name: 'copy',
  summary: 'Copy a SQLite database to PostgreSQL.',
  operands: [],
  about:
    'Copies everything that Gleaner keeps in the SQLite database of the config into an empty schema of ' +
    'PostgreSQL: tasks with their ids, order, attempts, logs and results, keys, queues, limits, schedules, ' +
    'quarantined rows, metrics and the record of actions. The command creates the tables. It does not copy ' +
    'your own tables.\n\nThe command refuses while a worker or `gleaner start` is alive on the source, or if ' +
    'the schema is not empty. No process can write to the source during the copy, so stop every app that ' +
    'enqueues first. At the end everything is there and was compared with the source, or nothing is there: ' +
    'if the command was killed, run it again. The source stays unchanged. Then name the new database in the ' +
    'config, and start.\n\nOther users of this machine can see a password in --to. Use PGPASSWORD instead. The ' +
    'options `postgres` of the config (schema, ssl) apply to the target.',
  options: {
    ...CONFIG_OPTIONS,
    json: JSON_OPTION,
    to: {
      type: 'string',
      value: 'url',
      about: 'The target, e.g. postgres://app@db.example/shop?schema=gleaner.',
    },
    'dry-run': {
      type: 'boolean',
      about: 'Only report how much would be copied and what prevents it. Write nothing.',
    },
  },
  examples: [
    [
      'gleaner copy --to postgres://app@db.example/shop --dry-run',
      'Check how much there is to copy, and whether the copy is possible.',
    ],
    ['gleaner copy --to postgres://app@db.example/shop', 'Copy it.'],
  ],
  async run(_operands, values, terminal) {
    const to = text(values.to)
    if (to === undefined) throw new UsageError('gleaner copy needs --to <url>', 'See gleaner copy --help.')
    const config = await configOf(values, terminal)
    noteServer(terminal)
    await mustBeThere(config)
    const { database: from, postgres, sqlite } = config.engine
    const begin = performance.now()
    const copied = await withProgress(terminal, 'copying', (tell) =>
      copyDatabase({
        from,
        to,
        postgres: checkPostgres(postgres ?? {}),
        sqlite: checkSqlite(sqlite ?? {}),
        dryRun: values['dry-run'] === true,
        onProgress: ({ table, copied, total }) => tell({ fraction: copied / total, detail: table }),
      }),
    )
    if (values.json === true) printJson({ from, to: withoutPassword(to), ...copied }, terminal)
    else
      for (const line of summary(copied, withoutPassword(to), performance.now() - begin)) terminal.print(line)
    return 0
  },
}

function summary({ dryRun, tasks, tables }: Copied, to: string, tookMs: number): string[] {
  const { tasks: count = 0, ...others } = tables
  const ofEach = Object.entries(tasks).map(([status, n]) => `${n} ${status}`)
  const rest = Object.entries(others).filter(([, n]) => n > 0)
  return [
    dryRun
      ? `${plural(count, 'task')} would be copied to ${to}`
      : `copied ${plural(count, 'task')} to ${to} in ${durationText(tookMs)}; both sides were compared`,
    ...(ofEach.length === 0 ? [] : [`  ${ofEach.join(', ')}`]),
    ...(rest.length === 0 ? [] : [`  rows: ${rest.map(([name, n]) => `${n} ${name}`).join(', ')}`]),
    ...(dryRun ? [] : ['Now set `database` in the config to this URL, and start.']),
  ]
}
