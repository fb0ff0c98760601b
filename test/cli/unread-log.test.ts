import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { LogLines, leftOutWords } from '../../src/cli/console/log-lines.ts'
import { defineTask, openGleaner } from '../../src/index.ts'
import { checkout, folderWith, GLEANER } from '../config/files.ts'
import { quickStart } from '../quick-start/environment.ts'

/** Far more than a pipe holds. */
const LINES = 300
const LINE_CHARS = 10_000
const STOPPED_WITHIN_MS = 15_000

const CONFIG = `import { defineConfig, defineTask } from ${GLEANER}
  const chatty = defineTask({ name: 'chatty', run: () => {
    for (let n = 0; n < ${LINES}; n++) console.log('x'.repeat(${LINE_CHARS}))
  } })
  const quiet = defineTask({ name: 'quiet', run: () => 'done' })
  export default defineConfig({
    database: 'sqlite:./app.db', tasks: [chatty, quiet], pools: { main: { processes: 1, concurrency: 1 } },
    supervisor: { name: 'test' },
  })`
const chatty = defineTask({ name: 'chatty' })
const quiet = defineTask({ name: 'quiet' })

test.each([
  ['stdout, as JSON,', ['--json'], ['ignore', 'pipe', 'ignore']],
  ['stderr', [], ['ignore', 'ignore', 'pipe']],
] as const)(
  'with a log on %s that nobody reads the work goes on, and Ctrl-C ends it',
  async (_, options, stdio) => {
    const folder = folderWith({ 'gleaner.config.ts': CONFIG })
    const app = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [chatty, quiet] })
    const start = spawn(process.execPath, [join(checkout, 'src/cli/bin.ts'), 'start', ...options], {
      cwd: folder,
      stdio: [...stdio],
      env: {
        ...process.env,
        ...quickStart(),
      },
    })
    onTestFinished(async () => {
      start.kill('SIGKILL')
      await app.close()
    })
    const ended = once(start, 'exit')
    await (await app.enqueue(chatty)).result({ timeout: '25s' })
    await (await app.enqueue(quiet)).result({ timeout: '25s' })
    const askedMs = performance.now()
    start.kill('SIGINT')
    const late = setTimeout(() => start.kill('SIGKILL'), STOPPED_WITHIN_MS)
    expect(await ended).toEqual([0, null])
    clearTimeout(late)
    expect(performance.now() - askedMs).toBeLessThan(STOPPED_WITHIN_MS)
  },
)

test('lines that nobody reads are left out, and counted where the log goes on', () => {
  const written: string[] = []
  const stream = { write: (text: string) => written.push(text) > 0, writableLength: 0 }
  const lines = new LogLines(stream as never, (count) => `${leftOutWords(count)}\n`)
  lines.write('first\n')
  stream.writableLength = 2_000_000
  for (let n = 0; n < 3; n++) lines.write('unread\n')
  stream.writableLength = 0
  lines.write('last\n')
  expect(written).toEqual([
    'first\n',
    '3 lines were dropped here, because no process read this log\n',
    'last\n',
  ])
})
