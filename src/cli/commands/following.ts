import { TaskGone } from '../../errors.ts'
import { writeExactly } from '../../exact-json.ts'
import { isFinished, type LogLine, type TaskRecord } from '../../model/task.ts'
import { PAGE_MAX } from '../console/paging.ts'
import { onSignals } from '../console/signals.ts'
import type { Terminal } from '../console/terminal.ts'
import type { Operations } from '../operations/contract.ts'
import { endingText, logText, progressText, stateText } from '../text/task.ts'

const POLL_MS = 250
/** As a shell says of what Ctrl-C has ended: 0 means that the task has completed. */
export const INTERRUPTED = 130

/** How it is told. */
interface Teller {
  line(line: LogLine): void
  progress(task: TaskRecord): void
  state(task: TaskRecord): void
  end(task: TaskRecord): void
}

/** A task that is followed. `from`: a cursor of its log. */
interface Followed {
  tasks: Operations['tasks']
  id: string
  from: string | null
}

/** Prints what a task logs until it has ended or a signal stops the command. Answers the exit code. */
export async function followed(task: Followed, isJson: boolean, terminal: Terminal): Promise<number> {
  const stop = new AbortController()
  const ignore = onSignals(
    () => stop.abort(),
    () => process.exit(INTERRUPTED),
  )
  try {
    const teller = isJson ? inJson(terminal) : inWords(terminal)
    return await Promise.race([untilEnded(task, teller, stop.signal), stopped(stop.signal)])
  } finally {
    // Whichever was first: the other one must not go on.
    stop.abort()
    ignore()
  }
}

async function untilEnded(followed: Followed, teller: Teller, stop: AbortSignal): Promise<number> {
  const { tasks, id } = followed
  const seen = { state: '', progress: 'null' }
  const isNew = (what: keyof typeof seen, now: unknown) => {
    const before = seen[what]
    seen[what] = JSON.stringify(now)
    return seen[what] !== before
  }
  let { from } = followed
  while (!stop.aborted) {
    // Before its lines: the last ones are written with the ending.
    const task = await tasks.get(id)
    if (task === null) throw new TaskGone(id)
    const { status, attempts, progress } = task
    if (!isFinished(status) && isNew('state', [status, attempts])) teller.state(task)
    from = await tellLines({ tasks, id, from }, teller, stop)
    if (isNew('progress', progress) && progress !== null) teller.progress(task)
    if (isFinished(status)) {
      teller.end(task)
      return status === 'completed' ? 0 : 1
    }
    await resting(stop)
  }
  return INTERRUPTED
}

/** All that there are now, and where to go on. */
async function tellLines(
  { tasks, id, from }: Followed,
  teller: Teller,
  stop: AbortSignal,
): Promise<string | null> {
  let cursor = from
  while (!stop.aborted) {
    const { items, next } = await tasks.logs(id, { limit: PAGE_MAX, cursor, follow: true })
    if (stop.aborted) break
    for (const line of items) teller.line(line)
    cursor = next
    if (items.length < PAGE_MAX) break
  }
  return cursor
}

function resting(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const rested = () => {
      clearTimeout(timer)
      stop.removeEventListener('abort', rested)
      resolve()
    }
    const timer = setTimeout(rested, POLL_MS)
    stop.addEventListener('abort', rested)
  })
}

function stopped(stop: AbortSignal): Promise<number> {
  return new Promise((resolve) => stop.addEventListener('abort', () => resolve(INTERRUPTED)))
}

/** Lines on stdout; what is about them beside it. */
function inWords({ print, complain, style }: Terminal): Teller {
  return {
    line: (line) => print(logText(line, style)),
    progress: (task) => print(progressText(task, Date.now(), style)),
    state: (task) => complain(stateText(task, Date.now())),
    end: (task) => complain(endingText(task)),
  }
}

/** An object on each line, for programs that read along. */
function inJson({ print }: Terminal): Teller {
  return {
    line: (log) => print(writeExactly({ log })),
    progress: ({ progress }) => print(writeExactly({ progress })),
    state() {},
    end: (task) => print(writeExactly({ ended: task })),
  }
}
