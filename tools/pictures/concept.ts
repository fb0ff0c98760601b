import { arrow, box, line, picture, words } from './svg.ts'

const WORKERS = [
  { middle: 74, note: 'Node.js' },
  { middle: 200, note: 'Node.js' },
  { middle: 326, note: 'any language' },
]

export function concept(): string {
  return picture({
    title: 'How Gleaner works',
    text:
      'Your app enqueues tasks or writes rows in your database. Workers claim tasks and rows from the database, run ' +
      'your code and store the results. A supervisor keeps the workers alive and serves the dashboard.',
    height: 430,
    parts: [
      box({ at: [90, 16], size: [220, 50], name: 'Your app', note: 'web server or script' }),
      arrow([200, 66], [200, 108]),
      words(['enqueues a task,', 'or writes a row'], [210, 82]),
      ...database(),
      ...WORKERS.flatMap(({ middle, note }) => [
        arrow([middle, 244], [middle, 196]),
        box({ at: [middle - 58, 246], size: [116, 50], name: 'Worker', note }),
        arrow([middle, 328], [middle, 298]),
      ]),
      // The arrows pause for the words: a line through a letter makes another letter of it.
      '<rect style="fill: var(--panel)" x="56" y="208" width="288" height="24"/>',
      words(['claims, runs your code, stores the result'], [200, 225], 'middle'),
      line([74, 328], [326, 328]),
      line([130, 328], [130, 362]),
      words(['starts, watches, restarts'], [140, 350]),
      box({ at: [16, 364], size: [208, 50], name: 'Supervisor', note: 'gleaner start' }),
      arrow([224, 389], [254, 389]),
      box({ at: [256, 364], size: [128, 50], name: 'Dashboard', note: 'HTTP, metrics' }),
    ],
  })
}

function database(): string[] {
  return [
    '<rect class="box work" x="16" y="110" width="368" height="84" rx="7"/>',
    words(['Your database'], [200, 132], 'middle', 'name'),
    words(['one SQLite file, or PostgreSQL'], [200, 149], 'middle'),
    '<rect class="panel" x="30" y="158" width="162" height="27" rx="5"/>',
    words(['tasks'], [111, 176], 'middle'),
    '<rect class="panel" x="208" y="158" width="162" height="27" rx="5"/>',
    words(['rows of your tables'], [289, 176], 'middle'),
  ]
}
