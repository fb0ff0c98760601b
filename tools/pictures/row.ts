import { arrow, box, line, picture, words } from './svg.ts'

export function rowLife(): string {
  return picture({
    title: 'The life of a row',
    text:
      'A row that does not match where is none of Gleaner’s work. If the app edits it so that it matches, it is waiting. A ' +
      'worker claims it and runs it. If the run ends well, done sets columns and the row no longer matches. If the row was ' +
      'edited during the run, or the worker died, it waits again. If an attempt fails, the row backs off and waits again ' +
      'after a delay. After its last attempt or three crashes it is quarantined until it is edited or released.',
    height: 436,
    parts: [
      box({ at: [86, 16], size: [228, 44], kind: 'outside', name: 'where does not hold' }),
      arrow([180, 60], [180, 118]),
      words(['your app', 'writes the row'], [172, 84], 'end'),
      box({ at: [122, 120], size: [116, 42], kind: 'wait', name: 'waiting' }),
      arrow([180, 162], [180, 216]),
      words(['a worker', 'claims it'], [172, 184], 'end'),
      box({ at: [122, 218], size: [116, 42], kind: 'work', name: 'claimed' }),
      arrow([238, 228], [268, 228], [268, 141], [240, 141]),
      words(['edited in the', 'run, or the', 'worker died'], [276, 174]),
      arrow([238, 250], [376, 250], [376, 38], [316, 38]),
      words(['done sets', 'your columns'], [368, 84], 'end'),
      arrow([160, 260], [118, 318]),
      words(['an attempt', 'failed'], [128, 284], 'end'),
      arrow([205, 260], [260, 318]),
      words(['its last attempt,', 'or 3 crashes'], [248, 284]),
      box({ at: [46, 320], size: [144, 42], kind: 'warn', name: 'backing-off' }),
      box({ at: [214, 320], size: [144, 42], kind: 'bad', name: 'quarantined' }),
      line([118, 362], [118, 416]),
      words(['the delay', 'is over'], [126, 382]),
      line([286, 362], [286, 416]),
      words(['edited, or', 'released'], [294, 382]),
      arrow([286, 416], [22, 416], [22, 141], [120, 141]),
    ],
  })
}
