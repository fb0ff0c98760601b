import { arrow, box, picture, words } from './svg.ts'

export function workerLife(): string {
  return picture({
    title: 'The life of a worker process',
    text:
      'A worker process is starting, then running. Pause and resume move it between running and paused. On a stop it is ' +
      'stopping, then stopped. If the process dies, it is crashed: its items go back, and after a delay the supervisor starts ' +
      'it again. After five crashes in five minutes, or twenty in total, it has failed until an operator resumes it.',
    height: 390,
    parts: [
      box({ at: [142, 20], size: [116, 42], kind: 'wait', name: 'starting' }),
      arrow([200, 62], [200, 118]),
      words(['it is ready'], [208, 95]),
      box({ at: [142, 120], size: [116, 42], kind: 'good', name: 'running' }),
      arrow([258, 134], [288, 134]),
      arrow([290, 148], [260, 148]),
      words(['pause'], [273, 114], 'middle'),
      words(['resume'], [273, 179], 'middle'),
      box({ at: [290, 120], size: [94, 42], kind: 'good', name: 'paused' }),
      ...stop(),
      ...crash(),
      ...legend(),
    ],
  })
}

function stop(): string[] {
  return [
    arrow([200, 162], [200, 238]),
    words(['stop', 'or restart'], [208, 208]),
    box({ at: [142, 240], size: [116, 42], kind: 'good', name: 'stopping' }),
    arrow([200, 282], [200, 328]),
    words(['it has ended'], [208, 310]),
    box({ at: [142, 330], size: [116, 42], name: 'stopped' }),
  ]
}

function crash(): string[] {
  return [
    arrow([142, 141], [126, 141]),
    box({ at: [12, 120], size: [112, 42], kind: 'warn', name: 'crashed' }),
    arrow([67, 120], [67, 64]),
    words(['its items', 'go back'], [75, 88]),
    box({ at: [12, 20], size: [112, 42], kind: 'warn', name: 'backing-off' }),
    arrow([124, 41], [140, 41]),
    arrow([67, 162], [67, 238]),
    words(['5 in 5 minutes,', '20 in total'], [75, 194]),
    box({ at: [12, 240], size: [112, 42], kind: 'bad', name: 'failed' }),
    words(['until you', 'resume it'], [67, 302], 'middle'),
  ]
}

function legend(): string[] {
  const colours = [
    ['wait', 'pending'],
    ['good', 'healthy'],
    ['warn', 'unhealthy'],
    ['bad', 'failed'],
  ]
  return [
    words(['Health'], [300, 232]),
    ...colours.flatMap(([kind, health], n) => [
      `<rect class="box ${kind}" x="300" y="${242 + n * 24}" width="16" height="16" rx="3"/>`,
      words([health!], [323, 255 + n * 24]),
    ]),
  ]
}
