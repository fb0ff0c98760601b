import type { Guard } from './guard.ts'

const LOAD = 'test/config/load.test.ts'
const CHECK = 'test/config/check.test.ts'

export const CONFIG: readonly Guard[] = [
  {
    name: 'errors of another copy are recognised',
    promise:
      "A PermanentError of a project's own copy of the package is final for the program that runs its tasks.",
    file: 'src/errors.ts',
    find: "Object.hasOwn(one, 'constructor') && brandOf(one.constructor) === brand",
    replace: "Object.hasOwn(one, 'constructor') && one.constructor === this",
    test: { file: LOAD, title: 'tasks and errors of another copy of the package are recognised' },
  },
  {
    name: 'tasks carry a mark that every copy knows',
    promise: 'Two copies of the package recognise each other.',
    file: 'src/define/task.ts',
    find: "Symbol.for('gleaner.task')",
    replace: "Symbol('gleaner.task')",
    test: { file: LOAD, title: 'tasks and errors of another copy of the package are recognised' },
  },
  {
    name: 'the environment goes before the config',
    promise: 'One config serves every machine.',
    file: 'src/config/check.ts',
    find: 'given.database ?? databaseOf(engine, path)',
    replace: 'databaseOf(engine, path) ?? given.database',
    test: { file: LOAD, title: 'for the database and the server' },
  },
  {
    name: 'a database is seen from the config',
    promise: 'gleaner status in a subfolder looks into the same database as gleaner start in the root.',
    file: 'src/config/check.ts',
    find: 'resolve(dirname(path), file)',
    replace: 'resolve(file)',
    test: { file: LOAD, title: 'from a folder below it, with its database beside it' },
  },
  {
    name: 'unknown fields of a config are refused',
    promise: 'A field that is mistyped is an error, and never silently ignored.',
    file: 'src/config/fields.ts',
    find: 'find((name) => !known.includes(name))',
    replace: 'find((name) => name === "")',
    test: { file: CHECK, title: 'an option of a pool that there is not' },
  },
  {
    name: 'a worker that is well must not look ill',
    promise: 'Timings that would kill healthy workers are refused.',
    file: 'src/config/check.ts',
    find: 'if (frame < stale && stale <= hung) return checked',
    replace: 'if (frame > 0 || stale <= hung) return checked',
    test: { file: CHECK, title: 'frames too seldom' },
  },
  {
    name: 'init overwrites nothing',
    promise: 'gleaner init never destroys what is there.',
    file: 'src/cli/commands/init.ts',
    find: '    refuseToOverwrite(target, Object.keys(files))\n',
    replace: '    if (target === "") refuseToOverwrite(target, Object.keys(files))\n',
    test: {
      file: 'test/cli/commands.test.ts',
      title: 'overwrites nothing, and writes nothing beside gleaner.config.mjs',
    },
  },
  {
    name: 'a paused queue raises no alert of standstill',
    promise: 'What is paused waits because somebody said so.',
    file: 'src/model/alerts.ts',
    find: 'pausedQueues.has(queue)',
    replace: 'pausedQueues.has("")',
    test: {
      file: 'test/model/alerts.test.ts',
      title: 'is none when something was completed, nothing waits for so long, or it is paused',
    },
  },
  {
    name: 'a worker without the capabilities serves nothing that requires them',
    promise: 'Items that wait for a GPU nobody has are an alert.',
    file: 'src/model/alerts.ts',
    find: ' && satisfies(one.requires, capabilities)',
    replace: ' && satisfies(null, capabilities)',
    test: { file: 'test/model/alerts.test.ts', title: 'are an alert that says what is missing' },
  },
]
