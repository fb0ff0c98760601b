import { GleanerError } from '../errors.ts'

/** Work makes new work without end: more runs than `runLimit` while time stood still. */
export class RunLimitError extends GleanerError {
  /** The task that ran most often. */
  readonly task: string

  constructor(task: string, runs: number, limit: number) {
    super(`more than ${limit} runs while time stood still, ${runs} of them of ${task}`, {
      code: 'RUN_LIMIT',
      hint: `Does ${task} enqueue itself, or retry, without a delay? If it is meant to, raise runLimit.`,
    })
    this.task = task
  }
}

/** A handler does not return, and time stands still while it runs. */
export class RunStuckError extends GleanerError {
  /** The tasks that do not return. */
  readonly tasks: readonly string[]

  constructor(tasks: readonly string[], what: string) {
    super(`${tasks.join(', ')}: ${what}`, {
      code: 'RUN_STUCK',
      hint: 'The test clock stands still while a handler runs. Wait for time to pass with `t.sleep()`. If the handler is slow in real time, raise `patience`.',
    })
    this.tasks = tasks
  }
}
