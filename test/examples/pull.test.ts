import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ended, line, start } from './run-example.ts'

test('programs in Python and with curl pull work over HTTP, and their results arrive', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-pull-'))
  const server = start(process.execPath, ['examples/pull/server.ts'], {
    env: { GLEANER_DATABASE: `sqlite:${join(folder, 'pull.db')}`, PORT: '0' },
  })
  onTestFinished(async () => {
    if (server.exitCode === null) await Promise.all([once(server, 'close'), server.kill('SIGKILL')])
    rmSync(folder, { recursive: true, force: true })
  })
  const served = ended(server)
  const [, url, token] = await line(server, /GLEANER_URL=(\S+) GLEANER_TOKEN=(\S+)/)
  const env = { GLEANER_URL: url!, GLEANER_TOKEN: token! }
  const shell = await ended(start('sh', ['examples/pull/worker.sh'], { env }))
  expect(shell).toMatchObject({ status: 0, stdout: 'task 1: 6 words\n', stderr: '' })
  const python = start('python3', ['examples/pull/worker.py', '--once'], { env })
  const pulled = ended(python)
  expect(await served).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/task 1: 6 words\ntask 2: 4 words\ntask 3: 0 words\n$/),
    stderr: '',
  })
  python.kill('SIGKILL')
  expect((await pulled).stdout).toContain('text.count 2 settled\n')
})
