import { arrow, box, picture, words } from './svg.ts'

export function taskLife(): string {
  return picture({
    title: 'The life of a task',
    text:
      'A new task is queued, or scheduled if it has runAfter. A scheduled task is queued when its time comes. A worker ' +
      'claims a queued task and runs it. If an attempt fails, the task is scheduled again after a delay. If the worker ' +
      'stops or dies, the task is queued again. A run ends as completed, failed or cancelled. Every unfinished task can ' +
      'be cancelled, and every finished task can be retried.',
    height: 452,
    parts: [
      words(['enqueue with runAfter'], [200, 24], 'middle'),
      arrow([200, 30], [200, 50]),
      box({ at: [138, 52], size: [124, 42], kind: 'wait', name: 'scheduled' }),
      arrow([200, 94], [200, 138]),
      words(['its time comes'], [208, 120]),
      box({ at: [138, 140], size: [124, 42], kind: 'wait', name: 'queued' }),
      words(['enqueue'], [64, 153]),
      arrow([64, 161], [136, 161]),
      arrow([200, 182], [200, 236]),
      words(['a worker', 'claims it'], [193, 204], 'end'),
      box({ at: [138, 238], size: [124, 42], kind: 'work', name: 'running' }),
      arrow([138, 266], [32, 266], [32, 73], [136, 73]),
      words(['an attempt', 'failed: it is', 'retried after', 'a delay'], [40, 202]),
      arrow([262, 259], [368, 259], [368, 161], [264, 161]),
      words(['the worker', 'stopped', 'or died'], [360, 188], 'end'),
      ...finished(),
    ],
  })
}

function finished(): string[] {
  return [
    arrow([165, 280], [80, 328]),
    arrow([200, 280], [200, 328]),
    arrow([235, 280], [320, 328]),
    box({ at: [16, 330], size: [116, 42], kind: 'good', name: 'completed' }),
    words(['has a result'], [74, 390], 'middle'),
    box({ at: [142, 330], size: [116, 42], kind: 'bad', name: 'failed' }),
    words(['no attempt left,', 'or no retry'], [200, 390], 'middle'),
    box({ at: [268, 330], size: [116, 42], name: 'cancelled' }),
    words(['from every', 'state above'], [326, 390], 'middle'),
    words(['Retry by hand: a finished task is queued again.'], [200, 436], 'middle'),
  ]
}
