import { GleanerError } from '../../errors.ts'
import { ROW_STATES, type RowState } from '../../model/row.ts'
import { nearest } from '../../options.ts'
import { type Command, JSON_OPTION, type Operand, PLACE_OPTIONS, text, YES_OPTION } from '../command.ts'
import { confirmed } from '../confirm.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'
import { gathered, PAGE_OPTIONS } from '../paging.ts'
import { printJson, printTable } from '../printing.ts'
import { withProgress } from '../progress.ts'
import { discoveryLines, discoveryTable, rowLines, rowTable } from '../text/discovery.ts'
import { explanationLines } from '../text/task.ts'
import { plural } from '../words.ts'
import { eachOf } from './each-of.ts'

const NAME: Operand = { name: 'discovery', about: 'Its name.' }
const KEY: Operand = { name: 'key', about: 'Of a row, as text; of several columns a JSON array.' }
const OPTIONS = { ...PLACE_OPTIONS, json: JSON_OPTION }

const list: Command = {
  name: 'discoveries list',
  summary: 'List discoveries, with how many rows are in each state.',
  operands: [],
  about:
    'All that some process has declared on this database: how many rows wait, are claimed, back off or are quarantined, ' +
    'how many are done in a minute, and how long the rest will take at this pace. One whose table cannot be read has ' +
    'no numbers.',
  options: OPTIONS,
  examples: [['gleaner discoveries', 'The list.']],
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
  summary: 'Show a discovery, or a row of it that needs work.',
  operands: [NAME, { ...KEY, optional: true }],
  about:
    'What was declared, how it goes, and the index that its table lacks, if any. With a key: that row, with its last ' +
    'attempts that did not end well.',
  options: OPTIONS,
  examples: [
    ['gleaner discoveries show tag-files', 'The discovery.'],
    ['gleaner discoveries show tag-files 42', 'A row of it.'],
  ],
  run: ([name, key], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      const found = await declared(discoveries, name!)
      const row = key === undefined ? null : await discoveries.row(name!, key)
      if (key !== undefined && row === null)
        throw new GleanerError(`${name} has no row ${key} that needs work`, {
          code: 'ROW_GONE',
          hint: `gleaner discoveries explain ${name} ${key} says why.`,
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
    'Rows that match the discovery: waiting, claimed by a worker, backing off after a failure, or quarantined after too ' +
    'many. With --json it prints { items, next }; next goes to --cursor for what follows.',
  options: {
    ...OPTIONS,
    state: { type: 'string', short: 's', value: 'state', choices: ROW_STATES, about: 'In this state.' },
    ...PAGE_OPTIONS,
  },
  examples: [
    ['gleaner discoveries rows tag-files', 'The first fifty.'],
    ['gleaner discoveries rows tag-files --state quarantined', 'Those that were put aside, and why.'],
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
          terminal.complain(`there are more: --cursor ${page.next}, or a larger --limit`)
      }
      return 0
    }),
}

const explain: Command = {
  name: 'discoveries explain',
  summary: 'Say why a row is not worked on, and what to do.',
  operands: [NAME, KEY],
  about:
    'Each condition in order, ok or no: whether there is such a row, whether it matches, whether the discovery is ' +
    'paused, whether the row is held, backs off or is quarantined, and whether any live worker serves it.',
  options: OPTIONS,
  examples: [['gleaner discoveries explain tag-files 42', 'Why is it not tagged?']],
  run: ([name, key], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      await declared(discoveries, name!)
      const explanation = await discoveries.explain(name!, key!)
      if (values.json === true) printJson(explanation, terminal)
      else for (const line of explanationLines(explanation, terminal.style)) terminal.print(line)
      return 0
    }),
}

const retry: Command = {
  name: 'discoveries retry',
  summary: 'Try rows again at once that back off or are quarantined.',
  operands: [NAME, { ...KEY, many: true }],
  about: 'They get all their attempts again, and need not wait. A row that is being worked on is refused.',
  options: OPTIONS,
  examples: [['gleaner discoveries retry tag-files 42 43', 'Two rows.']],
  run: ([name, ...keys], values, terminal) =>
    withOperations(values, terminal, async ({ discoveries }) => {
      await declared(discoveries, name!)
      return eachOf(keys, values, terminal, async (key) => {
        await discoveries.retry(name!, key)
        return `row ${key} of ${name} is tried again`
      })
    }),
}

const release: Command = {
  name: 'discoveries release',
  summary: 'Let rows out of quarantine: some, or all of them.',
  operands: [NAME, { ...KEY, optional: true, many: true }],
  about:
    'The rows that are named, or all that are quarantined, get all their attempts again. For all of them it says how many ' +
    'there are and asks; a script says --yes. Mend the cause first, or they come back.',
  options: { ...OPTIONS, yes: YES_OPTION },
  examples: [
    ['gleaner discoveries release tag-files 42', 'One row, to try.'],
    ['gleaner discoveries release tag-files', 'All of them.'],
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
    summary: verb === 'pause' ? 'Claim no more rows of a discovery.' : 'Claim rows of a discovery again.',
    operands: [NAME],
    about:
      verb === 'pause'
        ? 'No process claims rows of it any more; what runs goes on. It is remembered until it is resumed.'
        : 'Ends a pause: yours, or the one that Gleaner began itself because its declaration does not fit its table. ' +
          'Mend the cause first; `gleaner discoveries show` says what it is.',
    options: OPTIONS,
    examples: [[`gleaner discoveries ${verb} tag-files`, verb === 'pause' ? 'Stop it.' : 'Go on.']],
    run: ([name], values, terminal) =>
      withOperations(values, terminal, async ({ discoveries }) => {
        await declared(discoveries, name!)
        await discoveries[verb](name!)
        if (values.json === true) printJson({ discovery: name, paused: verb === 'pause' }, terminal)
        else terminal.print(`discovery ${name} ${verb === 'pause' ? 'is paused' : 'goes on'}`)
        return 0
      }),
  }),
)

export const discoveries: readonly Command[] = [list, show, rows, explain, retry, release, ...switches]

async function declared(discoveries: Operations['discoveries'], name: string) {
  const all = await discoveries.list()
  const found = all.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = all.map((one) => one.name)
  const meant = nearest(name, names)
  throw new GleanerError(`there is no discovery ${name}`, {
    code: 'UNKNOWN_DISCOVERY',
    hint: meant === undefined ? `There are: ${names.join(', ') || 'none'}.` : `Did you mean ${meant}?`,
  })
}
