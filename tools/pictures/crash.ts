import { arrow, line, picture, words } from './svg.ts'

/** Medians of 30 kills by `tools/pictures/measure-crash.ts`, in milliseconds after the kill. */
const NOTICED_MS = 22
const RERUN_MS = 28
const REPLACED_MS = 394

const TIMES_X = 62

const LANES = { worker: 92, supervisor: 184, database: 276, other: 358 }

export function crash(): string {
  const { worker, supervisor, database, other } = LANES
  return picture({
    title: 'A crash, and what follows',
    text:
      `Worker 0 is killed at 0 ms while it runs a task. The supervisor notices it after ${NOTICED_MS} ms and gives the task back in ` +
      `the same millisecond. Worker 1 claims the task and runs it again after ${RERUN_MS} ms. A new process of worker 0 is ready ` +
      `after ${REPLACED_MS} ms.`,
    height: 420,
    parts: [
      ...heads(),
      ...[supervisor, database, other].map((x) => line([x, 48], [x, 404])),
      bar(worker, [62, 128]),
      words(['attempt 1'], [worker + 12, 84]),
      words(['0 ms'], [TIMES_X, 132], 'end', 'name'),
      cross(worker, 128),
      words(['kill -9'], [worker + 12, 133], 'start', 'over'),
      words([`${NOTICED_MS} ms`], [TIMES_X, 190], 'end', 'name'),
      arrow([worker + 10, 134], [worker + 10, 185], [supervisor - 2, 185]),
      words(['noticed'], [worker + 18, 178]),
      arrow([supervisor, 202], [database - 2, 202]),
      words(['given back'], [(supervisor + database) / 2, 196], 'middle', 'over'),
      arrow([database, 244], [other - 2, 244]),
      words(['claimed'], [(database + other) / 2, 238], 'middle', 'over'),
      words([`${RERUN_MS} ms`], [TIMES_X, 262], 'end', 'name'),
      bar(other, [258, 404]),
      words(['attempt 2'], [other - 12, 276], 'end', 'over'),
      words([`${(REPLACED_MS / 1_000).toFixed(1)} s`], [TIMES_X, 356], 'end', 'name'),
      arrow([supervisor, 312], [worker, 312], [worker, 342]),
      words(['starts a new process'], [supervisor + 8, 317], 'start', 'over'),
      bar(worker, [344, 404]),
      words(['ready'], [worker + 12, 362], 'start'),
    ],
  })
}

function heads(): string[] {
  return Object.entries({
    worker: 'worker 0',
    supervisor: 'supervisor',
    database: 'database',
    other: 'worker 1',
  }).map(([lane, name]) => words([name], [LANES[lane as keyof typeof LANES], 34], 'middle'))
}

function bar(x: number, [from, to]: readonly [number, number]): string {
  return `<rect class="box work" x="${x - 6}" y="${from}" width="12" height="${to - from}" rx="3"/>`
}

function cross(x: number, y: number): string {
  return `<path class="box bad" d="M${x - 7} ${y - 7}l14 14m0-14l-14 14" style="stroke-width:3"/>`
}
