import { GleanerError } from '../../errors.ts'
import { ROW_STATES, type RowState } from '../../model/row.ts'
import { namesHint } from '../../options.ts'
import {
  type Command,
  JSON_OPTION,
  type Operand,
  PLACE_OPTIONS,
  text,
  YES_OPTION,
} from '../console/command.ts'
import { confirmed } from '../console/confirm.ts'
import { gathered, PAGE_OPTIONS } from '../console/paging.ts'
import { printJson, printTable } from '../console/printing.ts'
import { withProgress } from '../console/progress.ts'
import { plural } from '../console/words.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'
import { discoveryLines, discoveryTable, rowLines, rowTable } from '../text/discovery.ts'
import { explanationLines, stepTable } from '../text/task.ts'
import { eachOf } from './each-of.ts'

const NAME: Operand = { name: 'discovery', about: 'The name of a discovery.' }
const KEY: Operand = {
  name: 'key',
  about: 'The key of a row, as text. A key of several columns is a JSON array.',
}
const OPTIONS = { ...PLACE_OPTIONS, json: JSON_OPTION }

const list: Command = {
  name: 'discoveries list',
  summary: 'List discoveries, with the number of rows in each state.',
  operands: [],
  about:
    'Lists all discoveries that a process has declared on this database: how many rows wait, are claimed, ' +
    'back off or are quarantined, how many are done in a minute, and how long the rest will take at this ' +
    'pace. If the table of a discovery cannot be read, its line has no numbers.',
  options: OPTIONS,
  examples: [['gleaner discoveries', 'List all discoveries.']],
  run: (_operands, values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      const all = await discoveries.list()
      if (values.json === true) printJson(all, terminal)
      else if (all.length === 0) terminal.print('no discoveries')
      else printTable(discoveryTable(all), terminal)
      return 0
    }),
}

const show: Command = {
  name: 'discoveries show',
  summary: 'Show a discovery, or a row of its table.',
  operands: [NAME, { ...KEY, optional: true }],
  about:
    'Shows the declaration, the progress, and the index that the table lacks, if any. With a key it shows ' +
    'that row and its last attempts that did not complete. A row that needs no work is ineligible, which includes rows that are done.',
  options: OPTIONS,
  examples: [
    ['gleaner discoveries show tag-files', 'Show the discovery.'],
    ['gleaner discoveries show tag-files 42', 'Show one row.'],
  ],
  run: ([name, key], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      const found = await declared(discoveries, name!)
      const row = key === undefined ? null : await discoveries.row(name!, key)
      if (key !== undefined && row === null)
        throw new GleanerError(`the table of ${name} has no row ${key}`, {
          code: 'ROW_GONE',
          hint: `Check the key. Run \`gleaner discoveries rows ${name}\` to see rows that need work.`,
        })
      if (values.json === true) printJson(row ?? found, terminal)
      else {
        const { style } = terminal
        const lines = row === null ? discoveryLines(found, style) : rowLines(name!, row, Date.now(), style)
        for (const line of lines) terminal.print(line)
      }
      return 0
    }),
}

const rows: Command = {
  name: 'discoveries rows',
  summary: 'List rows that need work, in the order of their keys.',
  operands: [NAME],
  about:
    'Lists rows that match the discovery: waiting, claimed by a worker, backing off after a failure, or ' +
    'quarantined after too many failures. With --json it prints { items, next }. Pass next as --cursor to ' +
    'get the following rows.',
  options: {
    ...OPTIONS,
    state: {
      type: 'string',
      short: 's',
      value: 'state',
      choices: ROW_STATES,
      about: 'Only rows in this state.',
    },
    ...PAGE_OPTIONS,
  },
  examples: [
    ['gleaner discoveries rows tag-files', 'List the first fifty rows.'],
    [
      'gleaner discoveries rows tag-files --state quarantined',
      'List the quarantined rows, with their errors.',
    ],
  ],
  run: ([name], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      await declared(discoveries, name!)
      const state = text(values.state) as RowState | undefined
      const page = await gathered(values, (part) =>
        discoveries.rows(name!, { ...(state === undefined ? {} : { state }), ...part }),
      )
      if (values.json === true) printJson(page, terminal)
      else {
        if (page.items.length === 0) terminal.print('no rows')
        else printTable(rowTable(page.items, Date.now()), terminal)
        if (page.next !== null)
          terminal.complain(`there are more: pass --cursor ${page.next}, or a larger --limit`)
      }
      return 0
    }),
}

const explain: Command = {
  name: 'discoveries explain',
  summary: 'Say why a row is not worked on, and what to do.',
  operands: [NAME, KEY],
  about:
    'Checks each condition in order and prints ok or no: whether the row exists, whether it matches, whether ' +
    'the discovery is paused, whether the row is claimed, backs off or is quarantined, and whether a live ' +
    'worker serves it. The line below a failed condition says what to do.',
  options: OPTIONS,
  examples: [['gleaner discoveries explain tag-files 42', 'Find out why row 42 is not tagged.']],
  run: ([name, key], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      await declared(discoveries, name!)
      const explanation = await discoveries.explain(name!, key!)
      if (values.json === true) printJson(explanation, terminal)
      else for (const line of explanationLines(explanation, terminal.style)) terminal.print(line)
      return 0
    }),
}

const steps: Command = {
  name: 'discoveries steps',
  summary: 'Show what the steps of a row kept.',
  operands: [NAME, KEY],
  about:
    'Prints one line for each step of the row as it is now, as `gleaner tasks steps` does. An edit of the row drops its steps.',
  options: OPTIONS,
  examples: [['gleaner discoveries steps tag-files 42', 'Print the steps of this row.']],
  run: ([name, key], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      await declared(discoveries, name!)
      const all = await discoveries.steps(name!, key!)
      if (values.json === true) printJson(all, terminal)
      else if (all.length === 0) terminal.print('no steps')
      else printTable(stepTable(all, Date.now()), terminal)
      return 0
    }),
}

const retry: Command = {
  name: 'discoveries retry',
  summary: 'Run rows again that back off or are quarantined.',
  operands: [NAME, { ...KEY, many: true }],
  about:
    'The rows get all their attempts again and are eligible at once. The command refuses a row that a worker ' +
    'holds.',
  options: OPTIONS,
  examples: [['gleaner discoveries retry tag-files 42 43', 'Retry two rows.']],
  run: ([name, ...keys], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      await declared(discoveries, name!)
      return eachOf(keys, values, terminal, async (key) => {
        await discoveries.retry(name!, key)
        return `row ${key} of ${name} is eligible again`
      })
    }),
}

const release: Command = {
  name: 'discoveries release',
  summary: 'Release rows from quarantine: some, or all.',
  operands: [NAME, { ...KEY, optional: true, many: true }],
  about:
    'The named rows, or all quarantined rows, get all their attempts again. Without keys the command counts ' +
    'the rows and asks first. In scripts, pass --yes. Fix the cause before you release rows, or they will be ' +
    'quarantined again.',
  options: { ...OPTIONS, yes: YES_OPTION },
  examples: [
    ['gleaner discoveries release tag-files 42', 'Release one row, as a test.'],
    ['gleaner discoveries release tag-files', 'Release all quarantined rows.'],
  ],
  run: ([name, ...keys], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      const { quarantined } = await declared(discoveries, name!)
      if (keys.length > 0)
        return eachOf(keys, values, terminal, async (key) =>
          (await discoveries.release(name!, key)) === 0
            ? `row ${key} of ${name} is not quarantined`
            : `row ${key} of ${name} is released`,
        )
      if (quarantined !== 0) {
        const all = quarantined === null ? 'all quarantined rows' : plural(quarantined, 'quarantined row')
        if (!(await confirmed(`Release ${all} of ${name}`, values, terminal))) return 1
      }
      const released =
        quarantined === 0 ? 0 : await withProgress(terminal, 'releasing', () => discoveries.release(name!))
      if (values.json === true) printJson({ released }, terminal)
      else terminal.print(`${plural(released, 'row')} released`)
      return 0
    }),
}

const switches = (['pause', 'resume'] as const).map(
  (verb): Command => ({
    name: `discoveries ${verb}`,
    summary: verb === 'pause' ? 'Stop claiming rows of a discovery.' : 'Claim rows of a discovery again.',
    operands: [NAME],
    about:
      verb === 'pause'
        ? 'No process claims rows of the discovery any more. Running rows continue. The pause lasts, also over restarts, ' +
          'until you run `gleaner discoveries resume`.'
        : 'Ends a pause: yours, or one that Gleaner started because the declaration does not fit the table. In that case, ' +
          'fix the cause first; `gleaner discoveries show` prints it.',
    options: OPTIONS,
    examples: [[`gleaner discoveries ${verb} tag-files`, verb === 'pause' ? 'Pause it.' : 'Resume it.']],
    run: ([name], values, terminal) =>
      withOperations(values, terminal, async ({ discoveries }) => {
        await declared(discoveries, name!)
        await discoveries[verb](name!)
        if (values.json === true) printJson({ discovery: name, paused: verb === 'pause' }, terminal)
        else terminal.print(`discovery ${name} is ${verb === 'pause' ? 'paused' : 'resumed'}`)
        return 0
      }),
  }),
)

export const discoveries: readonly Command[] = [list, show, rows, steps, explain, retry, release, ...switches]

async function declared(discoveries: Operations['discoveries'], name: string) {
  const all = await discoveries.list()
  const found = all.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = all.map((one) => one.name)
  throw new GleanerError(`there is no discovery ${name}`, {
    code: 'UNKNOWN_DISCOVERY',
    hint: namesHint(name, names),
  })
}
