import type { Guard } from './guard.ts'

const SOURCE = 'src/store/sqlite/maintenance/copy-source.ts'
const TARGET = 'src/store/postgres/maintenance/copy-target.ts'
const TEST = 'test/maintenance/copy.test.ts'
const WHOLE = 'takes all of it along; what waited is done once and in its order, and numbers go on'
const QUARANTINED = 'keeps rows quarantined, until they are edited there'

function guard(
  name: string,
  promise: string,
  file: string,
  [find, replace]: readonly [string, string],
  title: string,
): Guard {
  return { name: `copy: ${name}`, promise, file, find, replace, test: { file: TEST, title } }
}

export const COPY: readonly Guard[] = [
  guard(
    'refused while in use',
    'Nothing is copied that somebody works on meanwhile: it would be run twice.',
    SOURCE,
    ['      refuseWhileUsed(connection)\n', ''],
    'is refused while a worker lives there, and says who',
  ),
  guard(
    'nobody writes meanwhile',
    'What is acknowledged while it is copied is not left behind.',
    SOURCE,
    ['      await connection.hold()\n', ''],
    'gives back what a killed worker held, and lets nobody write meanwhile',
  ),
  guard(
    'what the dead held goes back first',
    'What a killed worker held can be run in the target.',
    'src/maintenance/copy.ts',
    ['  if (rest.dryRun !== true) await giveBackWhatTheDeadHeld(from, { sqlite: rest.sqlite })\n', ''],
    'gives back what a killed worker held, and lets nobody write meanwhile',
  ),
  guard(
    'only into what is empty',
    'Two databases are never mixed.',
    TARGET,
    ['      await refuseFull(sql)\n      return work', '      return work'],
    'into a schema that holds something is refused, twice as well',
  ),
  guard(
    'one transaction',
    'Nothing is ever half-copied.',
    TARGET,
    ['      await lockTables(sql)\n', "      await sql.run('COMMIT')\n"],
    'killed in the middle, leaves nothing, and is done by the next one',
  ),
  guard(
    'both sides are compared',
    'What is said to be copied was counted on both sides.',
    'src/store/by-url/copy.ts',
    ['      refuseDifference(counted, there)\n', ''],
    'is undone when the two sides differ in the end',
  ),
  guard(
    'ranks as they are',
    'What waits keeps its order.',
    'src/store/copied-tables.ts',
    ["      in_line: `t.status = 'queued'`,", "      rank: '-t.id', in_line: `t.status = 'queued'`,"],
    WHOLE,
  ),
  guard(
    'how far a race has come',
    'Late comers of a weighted queue get no advantage by a copy.',
    'src/store/copied-tables.ts',
    ['FROM gleaner_queues WHERE race > 0)', 'FROM gleaner_queues WHERE race < 0)'],
    WHOLE,
  ),
  guard(
    'ids never come back',
    'An id that was ever given away names no other task.',
    TARGET,
    ["name === 'tasks' ? task : 0", "name === 'tasks' ? 0 * task : 0"],
    WHOLE,
  ),
  guard(
    'finished tasks are found',
    'What has ended is listed, retried and pruned there as before.',
    TARGET,
    ['      await sql.run(FINISHED)\n', '      void FINISHED\n'],
    WHOLE,
  ),
  guard(
    'a quarantine holds for the row as it is found',
    'Rows that were put aside stay so in the new database.',
    'src/store/postgres/rows/source.ts',
    ['IS NOT DISTINCT FROM 0)`', 'IS NOT DISTINCT FROM 1)`'],
    QUARANTINED,
  ),
  guard(
    'and ends when that is edited',
    'A row that was mended after the copy is worked on.',
    'src/store/scripts/rows/repair.ts',
    ['  if (adopted !== null) yield* change(adopted)\n', '  void adopted\n'],
    QUARANTINED,
  ),
]
