import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { listenersOn, usersIn } from '../../src/cli/operations/listeners.ts'
import { checkout, folderWith } from '../config/files.ts'
import { until } from '../until.ts'
import { gleaner } from './cli.ts'

const NOBODY = 65534
const TOKEN = 'a-token-that-gleaner-start-made'
const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'

/** A line of /proc/net/tcp. */
const line = (address: string, state: string, user: number) =>
  `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  ${user}        0 380115 1 0000 100 0 0 10 0\n`

/** A project whose own server has made a token. */
function project(): string {
  const folder = folderWith({ 'gleaner.config.mjs': `export default { database: 'sqlite:./app.db' }` })
  const file = join(folder, 'app.db.token')
  writeFileSync(file, `${TOKEN}\n`)
  chmodSync(file, 0o600)
  return folder
}

test('the table of the system shows which users listen on a port of this machine', () => {
  const table =
    HEAD +
    line('0100007F:20A4', '0A', 1001) +
    line('0100007F:20A4', '01', 7) +
    line('0100007F:20A5', '0A', 8) +
    line('0A01A8C0:20A4', '0A', 9) +
    line('00000000000000000000000001000000:20A4', '0A', NOBODY)
  expect(usersIn(table, 8356)).toEqual([1001, NOBODY])
})

test('the token of the database goes to a server of the same user', async () => {
  const seen: (string | undefined)[] = []
  const server = createServer(({ headers }, response) => {
    seen.push(headers.authorization)
    response.writeHead(500).end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  if (process.platform === 'linux') expect(listenersOn(port)).toEqual([process.getuid!()])
  await gleaner(project(), 'queues', '--url', `http://127.0.0.1:${port}`)
  expect(seen[0]).toBe(`Bearer ${TOKEN}`)
})

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'the token of the database does not go to a server of another user on its port',
  async () => {
    const program = `require('node:http').createServer(({ headers }, response) => {
      console.log('got ' + headers.authorization)
      response.end()
    }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
    const stranger = spawn(process.execPath, ['-e', program], { uid: NOBODY, gid: NOBODY, cwd: '/' })
    onTestFinished(() => void stranger.kill())
    const lines: string[] = []
    createInterface({ input: stranger.stdout }).on('line', (said) => lines.push(said))
    await until('it listens', () => lines.length > 0)
    const url = `http://127.0.0.1:${lines[0]}`
    expect(await gleaner(project(), 'queues', '--url', url)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        `error: the server at ${url} belongs to another user (${NOBODY}), so it does not get the token of your database\n` +
        'If you trust this server, pass its token with --token or GLEANER_TOKEN.\n',
    })
    await gleaner(project(), 'queues', '--url', url, '--token', 'a-token-that-was-named')
    await until('it got the one that was named', () => lines.length > 1)
    expect(lines[1]).toBe('got Bearer a-token-that-was-named')
  },
)

test('a log in a file that other users can read names the file of the token, not the token', async () => {
  const folder = folderWith({
    'gleaner.config.mjs': `export default { database: 'sqlite:./app.db', server: { port: 0 }, supervisor: { name: 'log' }, pools: { main: { command: ['cat'], queues: ['py'] } } }`,
  })
  const logged = async (mode: number) => {
    const log = join(folder, `log-${mode}`)
    const descriptor = openSync(log, 'w')
    chmodSync(log, mode)
    const start = spawn(process.execPath, [join(checkout, 'src/cli/bin.ts'), 'start'], {
      cwd: folder,
      stdio: ['ignore', descriptor, descriptor],
    })
    closeSync(descriptor)
    onTestFinished(() => void start.kill('SIGKILL'))
    await until('it serves', () => /dashboard: .*\n/.test(readFileSync(log, 'utf8')), 60_000)
    start.kill('SIGTERM')
    await once(start, 'exit')
    return readFileSync(log, 'utf8')
  }
  const secret = () => readFileSync(join(folder, 'app.db.token'), 'utf8').trim()
  const open = await logged(0o644)
  expect(open).not.toContain(secret())
  expect(open).toContain(`(the token is in ${join(folder, 'app.db.token')})`)
  expect(await logged(0o600)).toContain(`#token=${secret()}`)
})
