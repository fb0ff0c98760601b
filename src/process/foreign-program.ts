import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../clock.ts'
import {
  PermanentError,
  ResourceError,
  RetryLater,
  StoppedError,
  TaskCancelled,
  TimeoutError,
} from '../errors.ts'
import type { RunContext } from '../worker/attempt/context.ts'
import { ForeignFailure } from '../worker/attempt/foreign-failure.ts'
import { BoundedLines } from './bounded-lines.ts'
import { killDescendants, listed, memoryOf } from './descendants.ts'
import {
  decodeMessage,
  encodeMessage,
  type FailedByProgram,
  type FromProgram,
  type ItemForProgram,
  idInHead,
  type ToProgram,
} from './foreign-protocol.ts'
import { type Spawned, type SpawnOptions, spawned } from './foreign-spawn.ts'
import { type DurableContext, ForeignSteps } from './foreign-steps.ts'
import { decodeFrame, type Frame } from './frame.ts'

export interface ForeignOptions extends SpawnOptions {
  /** Characters of a line that are read at most: an answer can be as long as a result may be. */
  lineMax: number
  /** Between a cancel and the end of a program that does not heed it. */
  graceMs: number
  /** It takes the items of a batch in one message. */
  batches?: boolean
  clock: Clock
  /** What it writes on descriptor 3. */
  onFrame: (frame: Frame) => void
  /** A line that belongs to no task. */
  onOutput: (line: string, stream: 'stdout' | 'stderr') => void
  /** It ended on its own. The process that hosts it ends as well, so that a crash counts as a crash. */
  onCrash: (end: ProgramEnd) => void
  /** It hung, was killed, and another one has taken its place. */
  onReplaced?: () => void
}

export interface ProgramEnd {
  code: number | null
  signal: NodeJS.Signals | null
}

/** What a run, or one item of a batch, has of its context. */
type ItemContext = Pick<
  RunContext,
  'id' | 'attempt' | 'fence' | 'suspect' | 'deadlineAt' | 'signal' | 'log' | 'progress'
>

interface Run {
  ctx: Pick<ItemContext, 'log' | 'progress'>
  /** Items of a batch have none. */
  steps?: ForeignSteps
  settle: (end: { result: unknown } | { error: unknown }) => void
}

/** A call of a batch handler. */
export interface BatchForProgram extends Pick<ItemContext, 'log' | 'progress'> {
  items: readonly ItemContext[]
  fail(index: number, error: unknown): void
}

const FRAME_MAX = 64 * 1024
const SHOWN_MAX = 200
/** Beside the result there is little in an answer. */
const ENVELOPE_CHARS = 64 * 1024

/** A program in any language that runs tasks: `TASK|` lines in on its stdin, and out on its stdout. */
export class ForeignProgram {
  readonly #options: ForeignOptions
  readonly #runs = new Map<string, Run>()
  #child: ChildProcess
  /** In the environment of the program that runs now, and so in that of all that it starts. */
  #mark = ''
  #ended: Promise<ProgramEnd>
  #stopping = false
  #batches = 0
  /** It was killed and will be replaced: new runs wait for the next program. */
  #condemned: PromiseWithResolvers<void> | undefined

  private constructor(options: ForeignOptions, { child, mark }: Spawned) {
    this.#options = options
    this.#child = child
    this.#mark = mark
    this.#ended = this.#attend(child)
  }

  /** Rejects when there is no such program. */
  static async start(options: ForeignOptions): Promise<ForeignProgram> {
    return new ForeignProgram(options, await spawned(options))
  }

  /** It takes the items of a batch in one message. */
  get batches(): boolean {
    return this.#options.batches === true
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** With all that it has started; null: it is not known. */
  get rss(): number | null {
    return memoryOf('GLEANER_PROGRAM', this.#mark)
  }

  /** What a handler is: resolves with the result, rejects with why there is none. */
  async run(name: string, input: unknown, ctx: ItemContext & DurableContext): Promise<unknown> {
    await this.#condemned?.promise
    const { id } = ctx
    const { result, said } = this.#enter(ctx, new ForeignSteps(ctx, (message) => this.#say(message)))
    ctx.onLeave(() => {
      this.#say({ type: 'leave', id })
      // Nothing waits for this result any more.
      this.#runs.get(id)?.settle({ result: undefined })
    })
    this.#say({ type: 'run', ...described(ctx, input), name })
    said()
    return result
  }

  /** What a batch handler is. Only for a program that takes batches. */
  async runBatch(name: string, inputs: readonly unknown[], ctx: BatchForProgram): Promise<unknown> {
    await this.#condemned?.promise
    const results: unknown[] = []
    const ending = async (end: Promise<unknown>, i: number) => {
      try {
        results[i] = await end
      } catch (error) {
        ctx.fail(i, error)
      }
    }
    const id = `batch:${++this.#batches}`
    const whole = Promise.withResolvers<unknown>()
    const entered = ctx.items.map((item) => this.#enter(item))
    this.#runs.set(id, {
      ctx,
      settle: (end) => ('error' in end ? whole.reject(end.error) : whole.resolve(end.result)),
    })
    const items = ctx.items.map((item, i) => described(item, inputs[i]))
    this.#say({ type: 'batch', id, name, items })
    for (const { said } of entered) said()
    const each = Promise.all(entered.map(({ result }, i) => ending(result, i)))
    try {
      return await Promise.race([whole.promise, each.then(() => results)])
    } finally {
      this.#runs.delete(id)
      // What the program has not answered by itself it has answered with the batch.
      for (const item of ctx.items) this.#runs.get(item.id)?.settle({ result: undefined })
    }
  }

  /** From now on the program's answers about it are heard. `said`: to be called when the program knows of it. */
  #enter(ctx: ItemContext, steps?: ForeignSteps): { result: Promise<unknown>; said: () => void } {
    const { id, signal } = ctx
    let onSaid = () => {}
    const result = new Promise<unknown>((resolve, reject) => {
      const { clock, graceMs } = this.#options
      let impatience = () => {}
      const onAbort = () => {
        this.#say({ type: 'cancel', id, reason: reasonOf(signal.reason) })
        impatience = clock.after(graceMs, () => this.#condemn())
      }
      this.#runs.set(id, {
        ctx,
        steps,
        settle: (end) => {
          this.#runs.delete(id)
          signal.removeEventListener('abort', onAbort)
          impatience()
          if ('error' in end) reject(end.error)
          else resolve(end.result)
        },
      })
      onSaid = () => {
        if (signal.aborted) onAbort()
        else signal.addEventListener('abort', onAbort)
      }
    })
    return { result, said: onSaid }
  }

  /** Tells it to stop, closes its stdin, and kills it if it will not. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#say({ type: 'stop' })
    this.#child.stdin?.end()
    const { clock, graceMs } = this.#options
    const terminate = clock.after(graceMs, () => this.#child.kill('SIGTERM'))
    const kill = clock.after(2 * graceMs, () => this.kill())
    await this.#ended
    terminate()
    kill()
  }

  /** With its group, where it has one of its own; what else it has started ends when it is gone. */
  kill(): void {
    this.#child.kill('SIGKILL')
    const { pid } = this.#child
    if (this.#options.ownGroup !== true || pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // Nothing is left of it.
    }
  }

  /** What it had started must not go on with a task that was taken from it. */
  #endDescendants(): void {
    const { killed, left } = killDescendants('GLEANER_PROGRAM', this.#mark)
    const { onOutput } = this.#options
    if (killed.length > 0)
      onOutput(`killed the processes that the program had started: ${listed(killed)}`, 'stderr')
    if (left.length > 0)
      onOutput(`processes that the program had started still run: ${listed(left)}`, 'stderr')
  }

  #attend(child: ChildProcess): Promise<ProgramEnd> {
    const { lineMax, onFrame } = this.#options
    const [stdin, stdout, stderr, frames] = child.stdio as unknown as [Writable, Readable, Readable, Readable]
    // A program that is gone reads nothing: its end says so.
    stdin.on('error', () => {})
    listen(stdout, lineMax + ENVELOPE_CHARS, {
      onLine: (line) => this.#hear(line),
      onTooLong: (head, length) => this.#refuse(head, length),
    })
    listen(stderr, lineMax, {
      onLine: (line) => this.#note(line, 'stderr'),
      onTooLong: (head) => this.#note(`${head}…`, 'stderr'),
    })
    listen(frames, FRAME_MAX, {
      onLine: (line) => {
        const frame = decodeFrame(line)
        if (frame.kind === 'frame') onFrame(frame)
      },
      onTooLong: () => {},
    })
    return new Promise((resolve) => {
      // 'close', not 'exit': what it said last is still to be read.
      child.once('close', (code, signal) => {
        resolve({ code, signal })
        if (!this.#stopping) this.#over({ code, signal })
      })
      // Children of its own may hold its pipes open.
      child.once('exit', (code) => {
        // In order: what it left running it may have left on purpose.
        if (code !== 0 || !this.#stopping) this.#endDescendants()
        this.#options.clock.after(this.#options.graceMs, () => {
          for (const stream of [stdout, stderr, frames]) stream.destroy()
        })
      })
    })
  }

  #hear(line: string): void {
    const message = decodeMessage(line)
    if (message.type === 'other') return this.#note(line, 'stdout')
    if (message.type === 'bad') return this.#note(`not understood, ${message.why}: ${cut(line)}`, 'stderr')
    const run = this.#runs.get(message.id)
    if (run === undefined) return this.#note(`there is no task ${message.id} here: ${cut(line)}`, 'stderr')
    this.#heed(run, message)
  }

  #heed({ ctx, steps, settle }: Run, message: FromProgram): void {
    switch (message.type) {
      // Soon: what it wrote to stderr before may be ready to be read, and belongs to this task.
      case 'done':
        return void setImmediate(settle, { result: message.result })
      case 'failed':
        return void setImmediate(settle, { error: failureOf(message) })
      case 'progress':
        return void ctx.progress(message.fraction, message.message)
      case 'log':
        return ctx.log[message.level](message.message, message.details)
      default:
        if (steps === undefined)
          return settle({ error: new PermanentError('an item of a batch has no steps') })
        return void steps.heed(message).catch((error) => settle({ error }))
    }
  }

  /** An answer that is too long to be read is an answer nonetheless: the same would come again. */
  #refuse(head: string, length: number): void {
    const only = this.#runs.size === 1 ? [...this.#runs.keys()][0] : undefined
    const run = head.startsWith('TASK|') ? this.#runs.get(idInHead(head) ?? only ?? '') : undefined
    this.#note(`a line of ${length} characters was left out: ${cut(head)}`, 'stderr')
    run?.settle({
      error: new PermanentError(
        `the answer is ${length} characters long; results end at ${this.#options.lineMax}`,
      ),
    })
  }

  /** The task that began last gets it: if several run, it is unknown which of them wrote the line. */
  #note(line: string, stream: 'stdout' | 'stderr'): void {
    if (line === '') return
    const run = [...this.#runs.values()].at(-1)
    if (run === undefined) this.#options.onOutput(line, stream)
    else run.ctx.log[stream === 'stdout' ? 'info' : 'warn'](line)
  }

  /** A task that did not end when it was told to cannot be ended alone: the program goes, and another one comes. */
  #condemn(): void {
    if (this.#stopping || this.#condemned !== undefined) return
    this.#condemned = Promise.withResolvers()
    this.kill()
  }

  #over(end: ProgramEnd): void {
    if (this.#condemned === undefined) return this.#options.onCrash(end)
    // The one that was told to end has a reason already; the others did nothing wrong and lose nothing.
    const error = new RetryLater(0, 'the program was killed because another task did not end')
    for (const { settle } of [...this.#runs.values()]) settle({ error })
    this.#ended = this.#replace(end)
  }

  async #replace(end: ProgramEnd): Promise<ProgramEnd> {
    try {
      const { child, mark } = await spawned(this.#options)
      this.#child = child
      this.#mark = mark
    } catch {
      this.#options.onCrash(end)
      return end
    }
    const ended = this.#attend(this.#child)
    if (this.#stopping) this.#child.stdin?.end()
    this.#condemned?.resolve()
    this.#condemned = undefined
    this.#options.onReplaced?.()
    return ended
  }

  #say(message: ToProgram): void {
    const stdin = this.#child.stdin
    if (stdin?.writable) stdin.write(encodeMessage(message))
  }
}

function listen(
  stream: Readable,
  maxChars: number,
  ends: ConstructorParameters<typeof BoundedLines>[1],
): void {
  const lines = new BoundedLines(maxChars, ends)
  stream.on('data', lines.write)
  stream.on('end', lines.end)
  stream.on('error', () => {})
}

function described({ id, attempt, fence, suspect, deadlineAt }: ItemContext, input: unknown): ItemForProgram {
  return { id, input: input ?? null, attempt, fence, suspect, deadline_ms: deadlineAt }
}

function failureOf({ message, stack, retry, kind }: FailedByProgram): Error {
  const own = { stack: stack ?? undefined }
  if (kind === 'resource') return Object.assign(new ResourceError(message), own)
  return retry === false || kind === 'permanent'
    ? Object.assign(new PermanentError(message), own)
    : new ForeignFailure(message, { stack, retryAfterMs: retry })
}

function reasonOf(reason: unknown): (ToProgram & { type: 'cancel' })['reason'] {
  if (reason instanceof TaskCancelled) return 'cancelled'
  if (reason instanceof TimeoutError) return 'timeout'
  return reason instanceof StoppedError ? 'stopping' : 'lost'
}

function cut(text: string): string {
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`
}
