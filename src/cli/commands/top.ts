import { type Command, PLACE_OPTIONS, UsageError } from '../console/command.ts'
import { wordsOf } from '../console/error-words.ts'
import type { Terminal } from '../console/terminal.ts'
import type { Operations } from '../operations/contract.ts'
import { withOperations } from '../operations/open.ts'
import { type ActionEffect, pauseOrResume, retry } from '../top/actions.ts'
import { readKeys, withScreen } from '../top/screen.ts'
import { drawnView, EVERYTHING, moved, stillThere, type View } from '../top/view.ts'

const REREAD_MS = 1_000

export const top: Command = {
  name: 'top',
  summary: 'Watch workers, queues, discoveries and alerts live.',
  operands: [],
  about:
    'Shows the same as `gleaner status`, updated every second. Select a line with the arrow keys, or with j ' +
    'and k. The first line stands for everything; the others are workers, queues and discoveries. The key p ' +
    'pauses it, and r resumes it. The key t retries the failed tasks of a queue, releases the quarantined ' +
    'rows of a discovery, or restarts a worker. It counts them and asks first. q or Ctrl-C ends the command ' +
    'and restores the terminal.\n\nThe command needs a terminal. Without one, use `gleaner status`.',
  options: PLACE_OPTIONS,
  examples: [
    ['gleaner top', 'Watch the database of the config.'],
    ['gleaner top --url https://jobs.example.com', 'Watch a remote server. The token is in GLEANER_TOKEN.'],
  ],
  async run(_operands, values, terminal) {
    if (!terminal.isInteractive)
      throw new UsageError('gleaner top needs a terminal', 'Use `gleaner status` or `gleaner status --json`.')
    return withOperations(values, terminal, async (operations) => {
      // What is wrong from the beginning is told as by every other command.
      const overview = await operations.overview()
      await withScreen(terminal, (draw) => new Top(operations, terminal, draw).run(overview))
      return 0
    })
  },
}

class Top {
  readonly #operations: Operations
  readonly #terminal: Terminal
  readonly #draw: (lines: readonly string[]) => void
  readonly #ended = Promise.withResolvers<void>()
  #view: View = { overview: null, trouble: null, selected: EVERYTHING, message: '', question: null }
  #onYes: (() => Promise<string>) | null = null
  #isBusy = false
  #rereading: NodeJS.Timeout | undefined

  constructor(operations: Operations, terminal: Terminal, draw: (lines: readonly string[]) => void) {
    this.#operations = operations
    this.#terminal = terminal
    this.#draw = draw
  }

  async run(overview: View['overview']): Promise<void> {
    const redraw = () => this.#show({})
    process.stdout.on('resize', redraw)
    const stopReading = readKeys((key) => this.#pressed(key))
    this.#show({ overview })
    const reading = this.#reread()
    try {
      await this.#ended.promise
    } finally {
      process.stdout.off('resize', redraw)
      stopReading()
      clearTimeout(this.#rereading)
    }
    await reading
  }

  #show(news: Partial<View>): void {
    this.#view = { ...this.#view, ...news }
    this.#draw(drawnView(this.#view, this.#terminal))
  }

  async #reread(): Promise<void> {
    let isOver = false
    void this.#ended.promise.then(() => {
      isOver = true
    })
    while (!isOver) {
      await Promise.race([this.#ended.promise, this.#rested()])
      if (!isOver) await this.#read()
    }
  }

  #rested(): Promise<void> {
    return new Promise((resolve) => {
      this.#rereading = setTimeout(resolve, REREAD_MS)
    })
  }

  async #read(): Promise<void> {
    try {
      const overview = await this.#operations.overview()
      this.#show({ overview, trouble: null, selected: stillThere(overview, this.#view.selected) })
    } catch (error) {
      this.#show({ trouble: wordsOf(error)[0] })
    }
  }

  #pressed(key: string): void {
    if (key === 'quit') return this.#ended.resolve()
    if (this.#view.question !== null) return this.#answered(key)
    const { overview, selected } = this.#view
    if (key === 'up') return this.#show({ selected: moved(overview, selected, -1), message: '' })
    if (key === 'down') return this.#show({ selected: moved(overview, selected, 1), message: '' })
    if (key === 'p') return this.#do(() => pauseOrResume(this.#operations, selected, true))
    if (key === 'r') return this.#do(() => pauseOrResume(this.#operations, selected, false))
    if (key === 't') return this.#do(() => retry(this.#operations, selected))
  }

  #answered(key: string): void {
    const then = this.#onYes
    if (key === 'y' && then !== null) {
      this.#show({ question: null })
      this.#do(async () => ({ said: await then() }))
    } else if (key === 'n' || key === 'escape') this.#show({ question: null, message: 'nothing was done' })
  }

  /** One at a time: a key that is held down must not pile up work. */
  #do(act: () => Promise<ActionEffect>): void {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#show({ message: '…' })
    act()
      .then(
        (effect) => {
          if ('said' in effect) return this.#show({ message: effect.said })
          this.#onYes = effect.onYes
          this.#show({ message: '', question: effect.question })
        },
        (error) => this.#show({ message: wordsOf(error).filter(Boolean).join('. ') }),
      )
      .then(() => this.#read())
      .finally(() => {
        this.#isBusy = false
      })
  }
}
