import type { Carrier, Enqueueing, Telemetry } from '../define/telemetry.ts'
import type { Enqueued, NewTask } from '../store/ports/new-task.ts'

/** What a traced enqueue stores is a few hundred characters; more than that (someone's baggage) is not ours to keep. */
const CARRIER_MAX_CHARS = 4_096

/**
 * The telemetry that the engine was given, such that it harms nothing: what throws in it is told as a problem, and the work
 * goes on untraced.
 */
export class Tracing {
  readonly telemetry: Telemetry
  readonly #onProblem: (message: string, error: unknown) => void

  constructor(telemetry: Telemetry, onProblem: (message: string, error: unknown) => void) {
    this.telemetry = telemetry
    this.#onProblem = onProblem
  }

  /** Tasks of one name in one queue; synchronous if `enqueue` is. */
  enqueue<A extends Enqueued[] | Promise<Enqueued[]>>(
    tasks: readonly NewTask[],
    enqueue: (tasks: readonly NewTask[]) => A,
  ): A {
    const [first] = tasks
    if (first === undefined) return enqueue(tasks)
    const { name, queue } = first
    const span = this.try(() => this.telemetry.enqueueing({ name, queue, count: tasks.length }))
    if (span === undefined) return enqueue(tasks)
    try {
      const answers = enqueue(carrying(tasks, span.carrier))
      if (!(answers instanceof Promise)) this.#enqueued(span, answers)
      else
        answers.then(
          (done) => this.#enqueued(span, done),
          (error) => this.try(() => span.failed(error)),
        )
      return answers
    } catch (error) {
      this.try(() => span.failed(error))
      throw error
    }
  }

  /** Whatever the tracer does, `work` is called once, and its answer or error is what comes of it. */
  inside<T>(enter: (work: () => void) => void, work: () => T): T {
    let done: { answer: T } | { error: unknown } | undefined
    const once = () => {
      done ??= outcomeOf(work)
    }
    this.try(() => enter(once))
    once()
    if ('error' in done!) throw done.error
    return done!.answer
  }

  /** Undefined: it threw, or had nothing to say. */
  try<T>(trace: () => T): T | undefined {
    try {
      return trace()
    } catch (error) {
      this.#onProblem('telemetry threw', error)
      return undefined
    }
  }

  #enqueued(span: Enqueueing, answers: readonly Enqueued[]): void {
    this.try(() => span.enqueued(answers.map(({ id }) => id)))
  }
}

/** Those without options of their own share one object: the store sees that they are alike. */
function carrying(tasks: readonly NewTask[], carrier: Carrier | null): readonly NewTask[] {
  if (carrier === null || lengthOf(carrier) > CARRIER_MAX_CHARS) return tasks
  const shared = { trace: carrier }
  return tasks.map((task) => ({
    ...task,
    overrides: task.overrides === null ? shared : { ...task.overrides, trace: carrier },
  }))
}

function lengthOf(carrier: Carrier): number {
  return Object.entries(carrier).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
}

function outcomeOf<T>(work: () => T): { answer: T } | { error: unknown } {
  try {
    return { answer: work() }
  } catch (error) {
    return { error }
  }
}
