import type { Enqueued, NewTask } from '../../ports/new-task.ts'

/** Tasks of one commit, at most: more would hold the lock, and everybody's answer, for too long. */
const TASKS_MAX = 1_000

interface Call {
  tasks: readonly NewTask[]
  resolve: (answers: Enqueued[]) => void
  reject: (error: unknown) => void
}

/** Concurrent calls are inserted together: what is asked for until the write begins goes with it. */
export class Intake {
  readonly #write: (tasks: () => readonly NewTask[]) => Promise<Enqueued[]>
  readonly #onWritten: () => void
  /** Still open to more. */
  #open: { calls: Call[]; tasks: number } | null = null

  constructor(write: (tasks: () => readonly NewTask[]) => Promise<Enqueued[]>, onWritten: () => void) {
    this.#write = write
    this.#onWritten = onWritten
  }

  add(tasks: readonly NewTask[]): Promise<Enqueued[]> {
    return new Promise((resolve, reject) => {
      if (this.#open === null || this.#open.tasks >= TASKS_MAX) this.#begin()
      const group = this.#open!
      group.calls.push({ tasks, resolve, reject })
      group.tasks += tasks.length
    })
  }

  #begin(): void {
    const calls: Call[] = []
    const group = { calls, tasks: 0 }
    this.#open = group
    this.#write(() => {
      if (this.#open === group) this.#open = null
      return calls.length === 1 ? calls[0]!.tasks : calls.flatMap((call) => call.tasks)
    }).then(
      (answers) => {
        this.#onWritten()
        answer(calls, answers)
      },
      (error) => {
        if (this.#open === group) this.#open = null
        for (const call of calls) call.reject(error)
      },
    )
  }
}

function answer(calls: readonly Call[], answers: Enqueued[]): void {
  let from = 0
  for (const { tasks, resolve } of calls) {
    resolve(answers.slice(from, from + tasks.length))
    from += tasks.length
  }
}
