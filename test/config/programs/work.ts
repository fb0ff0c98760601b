import { loadConfig } from '../../../src/config/load.ts'
import { openGleaner } from '../../../src/index.ts'

/** Works off one of each task of a config, and tells what became of them. */
const { engine } = await loadConfig(undefined, { cwd: process.argv[2]!, env: {} })
const gleaner = await openGleaner(engine)
const ended = new Promise<void>((resolve) => {
  let count = 0
  const another = () => ++count === engine.tasks!.length && resolve()
  gleaner.on('completed', another)
  gleaner.on('failed', another)
  gleaner.on('returned', another)
  gleaner.on('retrying', another)
})
const handles = await Promise.all(engine.tasks!.map((task) => gleaner.enqueue(task)))
gleaner.work()
await ended
const records = await Promise.all(handles.map(({ id }) => gleaner.tasks.get(id)))
console.log(
  JSON.stringify(records.map((task) => [task?.name, task?.status, task?.error?.kind ?? task?.result])),
)
await gleaner.close()
