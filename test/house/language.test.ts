import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { checkLanguage, collect, describeViolation } from '../../tools/language/check.ts'
import { RULES } from '../../tools/language/rules.ts'
import { sentencesOf, wordsIn } from '../../tools/language/sentences.ts'

const checkout = join(import.meta.dirname, '../..')

/** Paths of a small checkout, and what stands in each file. */
type Plan = Record<string, string>

const planted: string[] = []

afterEach(() => {
  for (const root of planted.splice(0)) rmSync(root, { recursive: true })
})

function plant(plan: Plan): string {
  const root = mkdtempSync(join(tmpdir(), 'gleaner-language-'))
  planted.push(root)
  for (const [path, text] of Object.entries(plan)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const violationsOf = (plan: Plan) =>
  checkLanguage(plant(plan)).map(({ file, line, rule, found }) => `${file}:${line} ${rule}: ${found}`)

const textsOf = (plan: Plan) => collect(plant(plan)).map(({ text }) => text)

test('every sentence that a user reads follows the language', () => {
  expect(checkLanguage(checkout).map(describeViolation)).toEqual([])
})

test('the texts of every surface are read', () => {
  const counts = Object.groupBy(collect(checkout), ({ file }) => /^(?:src|docs|web)\/\w+|^\w+/.exec(file)![0])
  for (const surface of ['README', 'CHANGELOG', 'docs/guide', 'docs/reference', 'web/pages', 'web/parts'])
    expect(counts[surface]?.length ?? 0, surface).toBeGreaterThan(10)
  for (const room of [
    'cli',
    'http',
    'config',
    'model',
    'define',
    'engine',
    'queue',
    'discovery',
    'worker',
    'store',
  ])
    expect(counts[`src/${room}`]?.length ?? 0, room).toBeGreaterThan(20)
})

test('a sentence that breaks a rule is found on every surface that a user reads', () => {
  const bad = 'Was it edited meanwhile, nothing is written.'
  const surfaces: Plan = {
    'README.md': `# Title\n\n${bad}\n`,
    'CHANGELOG.md': `- ${bad}\n`,
    'AGENTS.md': `1. ${bad}\n`,
    'docs/index.md': `---\ntagline: ${bad}\n---\n`,
    'docs/guide/a.md': `| option | meaning |\n| --- | --- |\n| \`a\` | ${bad} |\n`,
    'docs/reference/a.md': `${bad}\n`,
    'docs/decisions/0001-a.md': `${bad}\n`,
    'src/errors.ts': `throw new InputError('bad', { code: 'BAD', hint: '${bad}' })`,
    'src/cli/commands/a.ts': `export const A = { about: '${bad}' }`,
    'src/http/routes/a.ts': `export const A = { summary: \`${bad}\` }`,
    'src/model/reasons.ts': `export const A = { fix: 'Wait. ${bad}' }`,
    'src/supervisor/log.ts': `log.warn(\`${bad}\`)`,
    'docs/guide/b.md': `\`\`\`ts\nconst a = 1 // ${bad}\n\`\`\`\n`,
    'docs/guide/c.md': `\`\`\`sh\n# ${bad}\n\`\`\`\n`,
    'docs/.vitepress/config.ts': `export default { description: '${bad}' }`,
    'docs/images/a.svg': `<svg><style>text { font: 1px }</style><desc>${bad}</desc></svg>`,
    'examples/a.ts': `// ${bad}`,
    'examples/b.ts': `console.log('${bad}')`,
    'examples/deploy/a.service': `# ${bad}`,
    'examples/python/a.py': `x = 1  # ${bad}`,
    'web/index.html': `<noscript>${bad}</noscript>`,
    'src/index.ts': `/** ${bad} */\nexport const a = 1`,
    'src/store/sqlite/migrations/a.ts': `const a = \`CREATE VIEW v AS\n-- ${bad}\nSELECT 1\``,
    'web/pages/a.tsx': `export const A = () => <p title="${bad}">fine</p>`,
    'web/pages/b.tsx': `export const A = () => <p>${bad}</p>`,
  }
  expect(
    checkLanguage(plant(surfaces))
      .map(({ file }) => file)
      .sort(),
  ).toEqual(Object.keys(surfaces).sort())
})

/** Sentences that break each rule, and the words that give them away. */
const BREACHES: Record<string, [sentence: string, found: string][]> = {
  who: [
    ['Who names `queues` means only those.', 'Who'],
    ['The last process wins, whoever said it last.', 'whoever'],
    ['It names who holds the lock.', 'who'],
    ['A worker who crashes is restarted.', 'who'],
    ['The limit is held, and the error says by whom.', 'whom'],
    ['Whoever is slow waits?', 'Whoever'],
  ],
  he: [
    ['A stopping worker waits, because he will not claim it.', 'he'],
    ['The worker loses his lease.', 'his'],
    ['Nothing stops him.', 'him'],
  ],
  somebody: [
    ['Wait until somebody releases it.', 'somebody'],
    ['Nobody has code for it.', 'Nobody'],
    ['Everybody waits.', 'Everybody'],
    ['It keeps anybody out.', 'anybody'],
  ],
  none: [
    ['The option "x" is none.', 'is none'],
    ['`every` is no schedule.', 'is no schedule'],
    ['These are no tokens.', 'are no tokens'],
  ],
  mend: [
    ['Mend the config.', 'Mend'],
    ['It runs again after the code was mended.', 'mended'],
  ],
  'tried-again': [
    ['It is tried again at 12:00.', 'tried again'],
    ['The worker tries it again.', 'tries it again'],
  ],
  told: [
    ['It is said in the log.', 'is said'],
    ['The supervisor is told of it.', 'is told'],
    ['The row is looked at when the run ends.', 'is looked at'],
  ],
  inverted: [
    ['Was it edited meanwhile, nothing is written.', 'Was'],
    ['Should the disk fill up, the error says so.', 'Should'],
    ['Is it the code, deploy a fix.', 'Is'],
    ['Has the task a key, it is kept.', 'Has'],
    ['Do they differ, the last one wins.', 'Do they'],
    [
      'The error names it; should it wait for time to pass, let it wait.',
      '; should it wait for time to pass,',
    ],
    ['It goes on, should it return, from the last row.', ', should it'],
    ['It is deployed. (Were it gone, it would be restored.)', 'Were'],
  ],
  'private-word': [
    ['The household decides.', 'household (write: crash isolation)'],
    ['The item is on probation.', 'probation (write: crash isolation)'],
    ['The claim is in other hands.', 'in other hands (write: in flight, running)'],
    ['It goes out in one journey.', 'journey (write: round trip, pipeline)'],
    ['Its key has a turnstile.', 'turnstile (write: limit key)'],
    ['The worker died with it in its hands.', 'in its hands (write: in flight, running)'],
    ['A backup is a chore.', 'chore (write: maintenance job)'],
    ['none waits', 'none waits (write: 0 waiting, 0 running)'],
    ['How it goes', 'How it goes (write: progress)'],
    ['Was at', 'Was at (write: phase at exit)'],
    ['Look', 'Look (write: view, view failures)'],
    ['Each change begins an era.', 'era (write: order generation)'],
    ['It is held ahead.', 'held ahead (write: prefetched)'],
  ],
  long: [[`The worker ${'claims and '.repeat(20)}stops.`, '43 words']],
}

describe('each rule finds what it rules out', () => {
  test('and each has a breach that shows it', () => {
    expect(Object.keys(BREACHES).sort()).toEqual(Object.keys(RULES).sort())
  })

  const breaches = Object.entries(BREACHES).flatMap(([rule, sentences]) =>
    sentences.map(([sentence, found]) => [rule, sentence, found] as const),
  )

  test.each(breaches)('%s: %s', (rule, sentence, found) => {
    expect(violationsOf({ 'README.md': `# Title\n\n${sentence}\n` })).toContain(
      `README.md:3 ${rule}: ${found}`,
    )
  })
})

test.each([
  'If the row was edited in the meantime, nothing is written and the row stays eligible.',
  'When the port is in use, the log says so and the server retries.',
  'If there is none, it is created. None of them is no longer there. There are no tasks.',
  'People who run it on a shared machine read this page.',
  'Users (those who sign in) see it, and operators, who may change it, see more.',
  'Who may read it?',
  'Is it running? Then stop it.',
  'Has it failed before?',
  'Do not edit this file. Do it without a confirmation. Do the migration first.',
  'Have a copy at hand before you start.',
  'The `Journey`, the `Household` and `whoever` are names in the code.',
  'Handlers run on the main thread. The shell has its handle.',
  'Did you mean: gleaner tasks retry',
  'Retry it later. Try again later.',
  'The two are told apart by their fence.',
  'The worker looks up the definition and looks at the queue.',
  'Recommended settings: amend the file, then restart.',
  'Areas, generations and cameras contain the letters of a word that is ruled out.',
  `${'One, two. '.repeat(30)}`,
  'The worker claims the task; it is due.',
  'See e.g. Is_Paused in the view.',
])('a good sentence is left alone: %s', (sentence) => {
  expect(violationsOf({ 'README.md': `${sentence}\n` })).toEqual([])
})

test.each([
  'Was it edited meanwhile, nothing is written and it stays to be done',
  'Who names `queues` or `discoveries` means only those',
  'A port that is taken is said in its log',
  'whoever said it last',
  'Who leaves holds nobody back: he will not claim it.',
  "What so many hands were to start now they do after everybody else's turn.",
  'none waits',
  'how it goes',
  'was at',
  'look',
])('what the contract of the language gives as a bad example is found: %s', (sentence) => {
  expect(violationsOf({ 'README.md': `# Title\n\n${sentence}\n` })).not.toEqual([])
})

describe('the code that a page or an example shows', () => {
  test('lines of a comment are one text; code, addresses and shell options are none', () => {
    const page = [
      '```ts',
      '// One sentence',
      '// in two lines.',
      "const url = 'https://who.example' // trailing",
      '/** A doc comment. */',
      '```',
      '```text',
      '// who: output is read where it is written',
      '```',
    ].join('\n')
    expect(collect(plant({ 'docs/a.md': page })).map(({ line, text }) => `${line} ${text}`)).toEqual([
      '2 One sentence in two lines.',
      '4 trailing',
      '5 A doc comment.',
    ])
  })

  test('the words of pictures are read, and their styles are not', () => {
    expect(
      textsOf({ 'docs/images/a.svg': '<svg><style>.who { a: b }</style><text x="1">Your app</text></svg>' }),
    ).toEqual(['Your app'])
  })
})

describe('markdown', () => {
  test('paragraphs, items, cells, titles, quotes and picture texts are read; code and comments are not', () => {
    const page = [
      '---',
      'title: The title who',
      '---',
      '# A heading with `code`',
      '',
      'A paragraph of two',
      'lines with a [link to nobody](who.md).',
      '- an item',
      '  that goes on',
      '1. a numbered item',
      '| cell one | cell two |',
      '| --- | --- |',
      '> a quote',
      '![a picture](images/who.png)',
      '<!-- a comment of nobody -->',
      '<b>bold</b>',
      '```ts',
      'const nobody = who()',
      '```',
      '````md',
      '```',
      'nobody',
      '```',
      '````',
    ].join('\n')
    expect(textsOf({ 'docs/page.md': page })).toEqual([
      'The title who',
      'A heading with `code`',
      'A paragraph of two lines with a link to nobody.',
      'an item that goes on',
      'a numbered item',
      'cell one',
      'cell two',
      'a quote a picture',
      'bold',
    ])
  })

  test('a violation names the line of its paragraph', () => {
    expect(violationsOf({ 'docs/page.md': 'Good.\n\nIt is\nbad for nobody.\n' })).toEqual([
      'docs/page.md:3 somebody: nobody',
    ])
  })

  test('the status is an internal note, and tests are no page', () => {
    expect(violationsOf({ 'docs/status.md': 'Nobody.', 'test/a.md': 'Nobody.' })).toEqual([])
  })
})

describe('code', () => {
  const messages = (code: string) => textsOf({ 'src/queue/a.ts': code })

  test('strings and templates with a space are messages, also when they are put together', () => {
    expect(
      messages(
        [
          `throw new Error('Cannot open it.')`,
          `const hint = \`Release task \${id} with \${how ? "one command" : word}.\``,
          `const sum = 'Was it edited, ' + what + ' nothing is written.'`,
          `const joined = ['One.', two, 'Three here.'].join(' ')`,
        ].join('\n'),
      ),
    ).toEqual([
      'Cannot open it.',
      'Release task ‹code› with ‹code›.',
      'one command',
      'Was it edited, ‹code› nothing is written.',
      'One. ‹code› Three here.',
    ])
  })

  test('names, imports, types, queries and comments inside the code are not', () => {
    expect(
      messages(
        [
          `import a from 'a b'`,
          `type State = 'a b' | 'c d'`,
          `const name = 'queue.paused'`,
          'const query = `SELECT nobody FROM who WHERE he = 1`',
          'const part = `WHERE journey = ? AND era = ?`',
          `const columns = 'name, era, ageing_ms'`,
          'const tagged = sql`who nobody mend`',
          '// nobody reads this',
          '/** Not exported behind a door: nobody sees it. */',
          'const x = 1',
        ].join('\n'),
      ),
    ).toEqual([])
  })

  test('the conformance suite is a test', () => {
    expect(violationsOf({ 'test/conformance/a.ts': `test('nobody waits')` })).toEqual([])
  })

  test('comments of views are read, because a user finds them in the schema', () => {
    expect(
      messages(`const a = \`CREATE VIEW gleaner_tasks AS -- x
        -- who holds it
        SELECT 1\`\nconst b = \`CREATE TABLE t (
        -- who holds it
        a int)\``),
    ).toEqual([expect.stringContaining('-- who holds it')])
  })

  test('the text of an element is read whole, and its attributes one by one', () => {
    const page = `export const A = () => (
      <p className="who is nobody" title="a title">
        None waits for <b>this one</b> and {count} others {'in a row'}.
        <i>Look</i>
      </p>
    )`
    expect(textsOf({ 'web/a.tsx': page })).toEqual([
      'None waits for ‹code› and ‹code› others in a row. ‹code›',
      'a title',
      'this one',
      'in a row',
      'Look',
    ])
  })

  test('a violation in a template names its own line', () => {
    expect(violationsOf({ 'src/cli/a.ts': 'const help = `A line.\nNobody is here.`' })).toEqual([
      'src/cli/a.ts:2 somebody: Nobody',
    ])
  })
})

describe('doc comments', () => {
  test('of everything behind the doors are read, with the types that it names, and no others', () => {
    const texts = textsOf({
      'src/index.ts': `export { type Task, open } from './task.ts'\nexport * from './all.ts'`,
      'src/task.ts': `import type { Named as Other } from './named.ts'
        /** A task. */
        export interface Task {
          /** Its name. */
          name: string
          other: Other
          local: Local
        }
        /** A local type. */
        type Local = string
        /** Opens it. */
        export function open(options: Options) {
          /** Inside a body. */
          const hidden = 1
        }
        interface Options {
          /** An option. */
          a: 1
        }
        /** Not named by anything. */
        export interface Unseen {}`,
      'src/named.ts': `/** Named by a type. */
        export interface Named {
          /** First paragraph.
           *
           * - second of a list
           * @deprecated use something else
           */
          a: 1
        }`,
      'src/all.ts': `/** Behind a star. */
        export class All {
          /** Is secret. */
          private secret = 1
          /** Is public. */
          open = 2
        }`,
      'src/testing/index.ts': `/** Declared at the door. */\nexport const door = 1`,
    })
    expect(texts.sort()).toEqual([
      'A local type.',
      'A task.',
      'An option.',
      'Behind a star.',
      'Declared at the door.',
      'First paragraph.',
      'Is public.',
      'Its name.',
      'Named by a type.',
      'Opens it.',
      'second of a list',
      'use something else',
    ])
  })
})

describe('sentences', () => {
  test('end with a stop and a new start; code counts as one word', () => {
    expect(sentencesOf('One. Two `a. B c` three (e.g. four). Is it? Yes! It is v1. 2 is last')).toEqual([
      'One.',
      'Two ‹code› three (e.g. four).',
      'Is it?',
      'Yes!',
      'It is v1.',
      '2 is last',
    ])
    expect(wordsIn('Two ‹code› three – (four).')).toBe(4)
  })
})
