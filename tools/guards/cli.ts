import type { Guard } from './guard.ts'

const ESCAPE = 'test/cli/escape.test.ts'
const TERMINAL = 'test/cli/terminal.test.ts'
const EVERYWHERE = 'test/cli/everywhere.test.ts'
const COMMANDS = 'test/cli/commands.test.ts'

export const CLI: readonly Guard[] = [
  {
    name: 'cli: what strangers wrote is escaped',
    promise: 'A name, a payload or an error cannot command the terminal of whoever looks at it.',
    file: 'src/cli/terminal.ts',
    find: 'shown: (line) => escaped(line).replaceAll',
    replace: 'shown: (line) => line.replaceAll',
    test: { file: TERMINAL, title: 'what strangers wrote commands no terminal, with {}' },
  },
  {
    name: 'cli: what strangers wrote is escaped in colours, too',
    promise: 'A sequence inside a coloured text is not taken for one of ours.',
    file: 'src/cli/terminal.ts',
    find: 'styleText(format, escaped(text), ',
    replace: 'styleText(format, text, ',
    test: { file: ESCAPE, title: 'an erased screen is shown, and not obeyed' },
  },
  {
    name: 'cli: 8-bit controls and marks of direction are escaped',
    promise: 'Not only what begins with an escape character is obeyed by terminals.',
    file: 'src/cli/escape.ts',
    find: '/[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cs}]|(?![\\u200c\\u200d])\\p{Cf}/gu',
    replace: '/[\\x00-\\x1f]/gu',
    test: { file: ESCAPE, title: 'another direction is shown, and not obeyed' },
  },
  {
    name: 'cli: who looks makes no database',
    promise: 'A path that is mistyped is said, and not answered with an empty database.',
    file: 'src/cli/operations/open.ts',
    find: '  await mustBeThere(config)\n',
    replace: '',
    test: { file: COMMANDS, title: 'gleaner status makes no database that is missing, and says who does' },
  },
  {
    name: 'cli: nobody is destroyed unasked',
    promise: 'A bulk change in a script needs --yes.',
    file: 'src/cli/confirm.ts',
    find: 'if (!terminal.canAsk)',
    replace: 'if (!terminal.canAsk && what !== "") return true\n  if (!terminal.canAsk)',
    test: {
      file: EVERYWHERE,
      title: 'beside a running gleaner start on sqlite > direct > gleaner tasks cancel',
    },
  },
  {
    name: 'cli: anything but yes is no',
    promise: 'A key pressed by mistake destroys nothing.',
    file: 'src/cli/confirm.ts',
    find: "/^y(es)?$/i.test(answer?.trim() ?? '')",
    replace: "!/^n/i.test(answer?.trim() ?? '')",
    test: { file: TERMINAL, title: 'prompts > answered with "\\u0003" (Ctrl-C) destroy nothing' },
  },
  {
    name: 'cli: redacted on the database, too',
    promise: 'A command prints the same whichever way it goes.',
    file: 'src/cli/operations/open.ts',
    find: 'redacted(directOperations(gleaner, config), redact)',
    replace:
      'redact === null ? redacted(directOperations(gleaner, config), redact) : directOperations(gleaner, config)',
    test: {
      file: EVERYWHERE,
      title: 'beside a running gleaner start on sqlite > direct > gleaner tasks list',
    },
  },
  {
    name: 'cli: top gives the terminal back',
    promise: 'After gleaner top a terminal is as it was.',
    file: 'src/cli/top/screen.ts',
    find: "const END = '\\x1b[?7h\\x1b[?25h\\x1b[?1049l'",
    replace: "const END = '\\x1b[?7h\\x1b[?1049l'",
    test: {
      file: TERMINAL,
      title:
        'gleaner top > shows all, and pauses, resumes, retries and releases what is chosen, at any size of the terminal',
    },
  },
  {
    name: 'cli: top asks before it retries',
    promise: 'One key does not run thousands of tasks again.',
    file: 'src/cli/commands/top.ts',
    find: "if (key === 'y' && then !== null)",
    replace: 'if (then !== null)',
    test: {
      file: TERMINAL,
      title:
        'gleaner top > shows all, and pauses, resumes, retries and releases what is chosen, at any size of the terminal',
    },
  },
  {
    name: 'cli: one that fails hides none of the others',
    promise: 'Of several tasks those are changed that can be, and the exit code tells of the rest.',
    file: 'src/cli/commands/each-of.ts',
    find: 'if (names.length === 1 && values.json !== true) throw error',
    replace: 'throw error',
    test: {
      file: EVERYWHERE,
      title: 'beside a running gleaner start on sqlite > direct > gleaner tasks remove',
    },
  },
  {
    name: 'cli: a wrong option is found before anything is opened',
    promise: 'Wrong usage ends with 2, wherever it is typed.',
    file: 'src/cli/parse.ts',
    find: '  option.check?.(value, rawName)\n',
    replace: '',
    test: {
      file: 'test/cli/usage.test.ts',
      title: 'wrong usage ends with 2, and says what was meant > gleaner ["tasks","--limit","0"]',
    },
  },
  {
    name: 'cli: a dead worker is not shown as alive',
    promise: 'Who looks after a crash is not told that somebody still works.',
    file: 'src/worker/manage.ts',
    find: 'supervisor === null && !isProvedDead(process, store)',
    replace: 'supervisor === null && process !== null',
    test: {
      file: COMMANDS,
      title: 'gleaner status > does not show a worker whose process is dead for certain',
    },
  },
]
