// A drop-in for an in-memory task manager: fire-and-forget calls of an app become durable. Kill the process in the middle of a call
// and start it again on the same database: the call runs again.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { defineTask, type Gleaner, openGleaner, type Task } from '../src/index.ts' // in your own project: from 'gleaner'
import { temporaryFile } from './temporary.ts'

export class BackgroundTasks {
  readonly #tasks: Task[] = []
  #gleaner: Gleaner | undefined

  /** Registers a function under a name, at the start of the program. Returns what the app calls instead of the function. */
  start<Input>(name: string, run: (input: Input) => unknown) {
    const task = defineTask({ name, input: z.custom<Input>(), run: (input) => run(input) })
    this.#tasks.push(task)
    return (input: Input) => this.#gleaner!.enqueue(task, input as never)
  }

  /** Runs calls: new ones, and those of earlier processes. */
  async open(database: string) {
    this.#gleaner = await openGleaner({ database, tasks: this.#tasks })
    return this.#gleaner.work()
  }

  close = () => this.#gleaner?.close()
}

// The app. Before: `const background = new InMemoryTasks()`, and everything in it was gone after a restart.
const background = new BackgroundTasks()
const thumbnail = background.start('thumbnail', async (photo: { path: string }) => {
  console.log('working on', photo.path)
  await sleep(Number(process.env.TAKES_MS ?? 10))
  console.log('thumbnail of', photo.path)
})
const worker = await background.open(process.env.DATABASE ?? `sqlite:${temporaryFile('app.db')}`)
// With --stay it goes on as a server does, and only runs what earlier processes left behind.
if (!process.argv.includes('--stay')) {
  await thumbnail({ path: 'beach.jpg' }) // fire and forget: it resolves when the call is stored
  await worker.drained()
  await background.close()
}
