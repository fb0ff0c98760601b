import type { Guard } from './guard.ts'

export const VALUES: readonly Guard[] = [
  {
    name: 'computed requirements are checked',
    promise: 'A function that returns nonsense is a typed error, and nothing is enqueued.',
    file: 'src/define/task.ts',
    find: 'if (isRequires(value)) return value',
    replace: 'return value as Requires',
    test: {
      file: 'test/queue/requires.test.ts',
      title: 'a function that returns nothing is a typed error, and nothing is enqueued',
    },
  },
  {
    name: 'requirements follow from the input',
    promise: 'A task that computes its requirements runs only where they are met.',
    file: 'src/queue/new-task.ts',
    find: '...(requiresOf === null ? {} : { requires: requiresWith(definition, task.requires, parsed) }),',
    replace: '',
    test: {
      file: 'test/queue/requires.test.ts',
      title: 'are those of the parsed input, and enqueue is merged over them',
    },
  },
  {
    name: 'whatever is thrown can be read',
    promise: 'A handler that throws a value without a text fails one attempt, and does not end the process.',
    file: 'src/worker/outcome-of-error.ts',
    find: 'const thrown = describeThrown(error)',
    replace: "const thrown = { name: '', message: String(error), stack: null }",
    test: {
      file: 'test/worker/hostile-values.test.ts',
      title:
        'on SQLite > whatever is thrown, logged or returned: one attempt ends with a short readable message, and the slot is free',
    },
  },
  {
    name: 'a bad report of progress is no unhandled rejection',
    promise: 'ctx.progress(NaN) that nobody awaits does not end the process.',
    file: 'src/worker/context.ts',
    find: '    refused.catch(() => {})\n',
    replace: '',
    test: {
      file: 'test/worker/hostile-code.test.ts',
      title: 'a report of progress that nobody awaits is a warning in the log of the task when it is refused',
    },
  },
  {
    name: 'what done returned is read once',
    promise: 'A getter that throws fails its own row, not the transaction of all others.',
    file: 'src/discovery/done.ts',
    find: 'return Object.fromEntries(read) as RowValues',
    replace: 'return values as RowValues',
    test: {
      file: 'test/worker/hostile-code.test.ts',
      title: 'in `done`: what it returned is read once, so that no getter throws inside the transaction',
    },
  },
  {
    name: 'a process without pipes is a failed start',
    promise: 'A supervisor without free descriptors goes on, and starts its worker again later.',
    file: 'src/supervisor/child.ts',
    find: 'return { process: child.pid === undefined ? null : child, failed }',
    replace: 'return { process: child, failed }',
    test: {
      file: 'test/supervisor/no-descriptors.test.ts',
      title:
        'a worker that cannot be started for want of descriptors is tried again with backoff; the others go on',
    },
  },
  {
    name: 'what left the group of its worker is killed',
    promise: 'A process that called setsid does not go on with an item that was given to another worker.',
    file: 'src/supervisor/child.ts',
    find: '      if (this.pid !== null) this.#endDescendants(exit, events)\n',
    replace: '',
    test: {
      file: 'test/supervisor/descendants.test.ts',
      title: 'is killed when the worker dies, before its item is given back, and the log says so',
    },
  },
  {
    name: 'what a program has started is killed with it',
    promise: 'A task past its time-out leaves no process of its program behind.',
    file: 'src/process/foreign-program.ts',
    find: '        if (code !== 0 || !this.#stopping) this.#endDescendants()\n',
    replace: '',
    test: {
      file: 'test/process/foreign.test.ts',
      title: 'that heeds no cancel is killed with all that it has started, also what left its group',
    },
  },
  {
    name: 'lines that nobody reads keep nobody from leaving',
    promise: 'Ctrl-C ends gleaner start also when the reader of its log has stopped reading.',
    file: 'src/cli/bin.ts',
    find: 'setTimeout(() => process.exit(), LAST_LINES_MS).unref()',
    replace: '{}',
    test: {
      file: 'test/cli/unread-log.test.ts',
      title: 'with a log on stderr that nobody reads the work goes on, and Ctrl-C ends it',
    },
  },
]
