import { test } from 'vitest'
import { tempDatabase } from '../temp-database.ts'
import { ended, line, start } from './run-example.ts'

const EXAMPLE = 'examples/background-tasks.ts'

test('a fire-and-forget call survives the death of its process, and runs again in the next one', async () => {
  const DATABASE = `sqlite:${tempDatabase()}`
  const first = start(process.execPath, [EXAMPLE], { env: { DATABASE, TAKES_MS: '600000' } })
  await line(first, /working on beach.jpg/)
  first.kill('SIGKILL')
  await ended(first)
  const second = start(process.execPath, [EXAMPLE, '--stay'], { env: { DATABASE } })
  await line(second, /working on beach.jpg\nthumbnail of beach.jpg\n/)
  second.kill('SIGKILL')
  await ended(second)
})
