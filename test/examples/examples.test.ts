import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../until.ts'
import { ownFile, ownSchema } from './own-databases.ts'
import { checkout, ended, line, type Ran, run, start } from './run-example.ts'

const scratch = mkdtempSync(join(tmpdir(), 'gleaner-examples-test-'))
const ownDatabases = [
  ['SQLite', ownFile(scratch)],
  ['PostgreSQL', ownSchema()],
] as const
afterAll(async () => {
  for (const [, own] of ownDatabases) await own.remove()
  rmSync(scratch, { recursive: true, force: true })
})

const ESCAPE = '\x1b['

/** Where the examples make their temporary files: a folder that must be empty afterwards. */
function temporary(name: string): { TMPDIR: string } {
  return { TMPDIR: mkdtempSync(join(scratch, `${name}-`)) }
}

describe('the small examples', () => {
  const outputs: Record<string, string> = {
    'first-task.ts': 'Hello, Ada!\n',
    'exactly-once.ts': [
      'result: { booked: 1250 }',
      'attempt 1: error (Error: an error after the write)',
      'attempt 2: completed',
      "bookings: [ { account: 'Ada', cents: 1250 } ]",
      '',
    ].join('\n'),
    'discovery.ts': [
      'tagged: [ { id: 1, bpm: 101 }, { id: 2, bpm: 102 }, { id: 4, bpm: 104 } ]',
      'song 3: quarantined, notes.txt is not music',
      'what to do: Fix the cause, then run `gleaner discoveries release tag-songs 3`, or discoveries.release(\'tag-songs\', "3") in code. ' +
        'An edit of the row also releases it.',
      'left: 0',
      '',
    ].join('\n'),
    'background-tasks.ts': 'working on beach.jpg\nthumbnail of beach.jpg\n',
    'within-transaction.ts': [
      'welcome mail to ada@example.org',
      'refused: UNIQUE constraint failed: users.email',
      'tasks: 1 completed, 0 queued',
      '',
    ].join('\n'),
    'keys.ts': [
      'first created: true',
      'again created: false - same task: true',
      'north indexed',
      'later created: true',
      'forever created: false',
      'after remove created: true',
      '',
    ].join('\n'),
    'cancel-and-timeout.ts': [
      '1: true TASK_CANCELLED',
      '2: true TASK_CANCELLED',
      '3: true timeout',
      '   attempt 1: timeout: the handler ran longer than its time-out of 200 ms',
      '   attempt 2: timeout: the handler ran longer than its time-out of 200 ms',
      '',
    ].join('\n'),
  }

  test('all of them are tested here', () => {
    const programs = readdirSync(join(checkout, 'examples')).filter((name) => name.endsWith('.ts'))
    expect(programs.sort()).toEqual([...Object.keys(outputs), 'quickstart.ts', 'temporary.ts'].sort())
  })

  test.each(Object.entries(outputs))(
    '%s says what it should, and leaves nothing behind',
    async (name, stdout) => {
      const env = temporary(name)
      expect(await run(`examples/${name}`, { env })).toEqual({ status: 0, stdout, stderr: '' })
      expect(readdirSync(env.TMPDIR)).toEqual([])
    },
  )

  test('web-and-worker: a web process enqueues what a worker process does', async () => {
    const env = { GLEANER_DATABASE: `sqlite:${join(scratch, 'web.db')}`, PORT: '0' }
    const web = start(process.execPath, ['examples/web-and-worker/web.ts'], { env })
    const worker = start(process.execPath, ['examples/web-and-worker/worker.ts'], { env })
    const ends = Promise.all([ended(web), ended(worker)])
    const [, address] = await line(web, /listening on (\S+)\n/)

    const bad = await fetch(`${address}/thumbnails?url=a.jpg&width=0`, { method: 'POST' })
    expect([bad.status, await bad.json()]).toEqual([400, { error: expect.stringContaining('width') }])

    const done = line(worker, /task (\d+) done in \d+ ms\n/)
    const order = await fetch(`${address}/thumbnails?url=a.jpg&width=320`, { method: 'POST' })
    const { id, created } = (await order.json()) as { id: string; created: boolean }
    expect([order.status, created]).toEqual([202, true])

    expect((await done)[1]).toBe(id)
    expect(await (await fetch(`${address}/thumbnails/${id}`)).json()).toEqual({
      status: 'completed',
      result: { path: `/thumbnails/${id}.webp`, bytes: 12_800 },
      error: null,
    })
    expect((await fetch(`${address}/thumbnails/4711`)).status).toBe(404)

    web.kill('SIGTERM')
    worker.kill('SIGTERM')
    for (const { status, stderr } of await ends) expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})

// Side by side: they spend most of their time waiting.
describe('the quickstart', { concurrent: true }, () => {
  const onPostgres = ownSchema()
  afterAll(() => onPostgres.remove())

  describe.each([
    ['a temporary file', {}],
    ['PostgreSQL', { GLEANER_DATABASE: onPostgres.url }],
  ])('on %s, without a terminal', (_database, given) => {
    const env = temporary('plain')
    let running: Promise<Ran & { elapsedMs: number }>

    beforeAll(() => {
      const startedAt = performance.now()
      running = run('examples/quickstart.ts', { env: { ...env, ...given, FORCE_COLOR: '1' } }).then(
        (ran) => ({ ...ran, elapsedMs: performance.now() - startedAt }),
      )
    })

    test('ends well, in less than 45 seconds, and leaves nothing behind', async () => {
      const { status, stderr, elapsedMs } = await running
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
      expect(elapsedMs).toBeLessThan(45_000)
      expect(readdirSync(env.TMPDIR)).toEqual([])
    })

    test('prints a plain line now and then, and no escape codes', async () => {
      const { stdout } = await running
      const lines = stdout.match(/^ +\d+\.\d s {2}\d+ of 322 done \(.*running.*queued.*scheduled$/gm)
      expect(lines?.length).toBeGreaterThan(2)
      expect(stdout).not.toContain('\x1b')
    })

    test('fits a terminal of 80 columns', async () => {
      const { stdout } = await running
      expect(stdout.split('\n').filter((text) => text.length > 80)).toEqual([])
    })

    test.each([
      ['how many were enqueued', /^322 tasks enqueued in .* each on disk\.$/m],
      ['what is to be found', /^60 products without a text, in a table of the shop's own\.$/m],
      [
        'what was found and done',
        /^Found in a table, without an enqueue\n {2}product\.describe {2}59 of 60 rows done, 1 quarantined\n +row 42: Error: no translation/m,
      ],
      ['the counts', /^322 of 322 tasks done in \d+\.\d s\n {2}315 completed, 6 failed, 1 cancelled$/m],
      ['the throughput', /^ {2}throughput {2}\d+ tasks\/s on average, \d+ in the best second$/m],
      ['the latency', /^ {2}wait +p50 .*s, p95 .*s .*\n {2}run +p50 .*s, p95 .*s$/m],
      ['each kind of task', /^ {2}mail\.send +240 +240 +0 .*\n {2}webhook\.deliver +30 +27 +36 /m],
      [
        'what failed after retries',
        /webhook\.deliver +3 × error after 4 attempts\n +Error: 503 from shop-9\.example/,
      ],
      [
        'what failed for good at once',
        /card\.charge +2 × permanent after 1 attempt\n +the card was declined/,
      ],
      ['what took too long', /feed\.fetch +1 × timeout after 2 attempts\n +the handler ran longer/],
      ['what recovered', /18 more tasks failed at first and recovered\./],
      ['what was cancelled', /cancelled +video\.export \d+, while it ran, at \d+ %/],
      ['what the duplicate was answered', /created: false, id 321, the first one's; result: 1200 documents/],
      ['how long one task takes', /round trip +[\d.]+ ms from enqueue to result/],
      ['what to try next', /What to try next\n {2}GLEANER_DATABASE=sqlite:/],
    ])('says %s', async (_what, pattern) => {
      expect((await running).stdout).toMatch(pattern)
    })
  })

  describe('on a terminal', () => {
    test('shows what goes on, redrawn in place, in colours', async () => {
      const { status, stdout } = await onTerminal({})
      expect(status).toBe(0)
      const frames = stdout.split(`${ESCAPE}J`)
      expect(frames.length).toBeGreaterThan(20)
      const middle = frames
        .slice(1)
        .find((frame) => /video\.export 322 .* \d+ % /.test(frame) && frame.includes('(permanent)'))!
      // Back up over the frame before, each line cleared behind its text.
      expect(middle).toContain(`${ESCAPE}22A\r`)
      expect(middle.split(`${ESCAPE}K\r\n`)).toHaveLength(23)
      expect(middle).toContain(`${ESCAPE}32m`)
      expect(middle).toMatch(/Gleaner: \d+ of 322 tasks done/)
      expect(middle).toMatch(/rows done .* \d+ {2}/)
      expect(middle).toMatch(/card\.charge \d+ .*failed \(permanent\).*the card was declined/)
      // Cursor and line wrapping are given back before the summary.
      expect(stdout.lastIndexOf(`${ESCAPE}?25h${ESCAPE}?7h`)).toBeGreaterThan(
        stdout.lastIndexOf(`${ESCAPE}?25l`),
      )
      expect(stdout.slice(stdout.lastIndexOf(`${ESCAPE}?7h`))).toMatch(/315 completed.*6 failed.*1 cancelled/)
    })

    test('has no colours where NO_COLOR is set', async () => {
      const { status, stdout } = await onTerminal({ NO_COLOR: '1' })
      expect(status).toBe(0)
      expect(stdout).toMatch(/Gleaner: \d+ of 322 tasks done/)
      expect(stdout).not.toMatch(new RegExp(`${ESCAPE.replace('[', '\\[')}\\d+m`))
    })
  })

  const slow = { timeout: 120_000 }

  test('with --stay it ends in the address of the dashboard, where everything is at work', slow, async () => {
    const env = temporary('staying')
    const child = start(process.execPath, ['examples/quickstart.ts', '--stay'], { env })
    const end = ended(child)
    const [, url, token] = await line(
      child,
      /Ctrl-C stops everything\.\nDashboard: (http:\S+)\/#token=(\S+)\n/,
    )
    const headers = { authorization: `Bearer ${token}` }
    const get = async (path: string) =>
      (await fetch(`${url}/api/v1${path}`, { headers })).json() as Promise<any>
    const page = await fetch(url!, { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const counted = async () => (await get('/tasks?name=text.count&status=completed')).items.length > 0
    await until('the worker in Python has done something', counted)
    const poison = async () => (await get('/discoveries/photo.tag/rows/13')).state === 'quarantined'
    await until('the photo that kills is put aside', poison)
    child.kill('SIGINT')
    const { status, stderr } = await end
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(readdirSync(env.TMPDIR)).toEqual([])
  })

  test('stops cleanly on Ctrl-C', async () => {
    const env = temporary('stopped')
    const child = start(process.execPath, ['examples/quickstart.ts'], { env })
    const end = ended(child)
    await line(child, /\d\.\d s .* done/)
    child.kill('SIGINT')
    const { status, stdout, stderr } = await end
    expect({ status, stderr }).toEqual({ status: 130, stderr: '' })
    expect(stdout).toMatch(/Stopped by SIGINT: the temporary database is removed\.\n$/)
    expect(readdirSync(env.TMPDIR)).toEqual([])
  })

  test('says where the rest is when it is stopped, and not the password', async () => {
    const own = ownSchema()
    const child = start(process.execPath, ['examples/quickstart.ts'], { env: { GLEANER_DATABASE: own.url } })
    const end = ended(child)
    await line(child, /\d\.\d s .* done/)
    child.kill('SIGINT')
    const { status, stdout } = await end
    await own.remove()
    const { username, password, host } = new URL(own.url)
    expect(status).toBe(130)
    expect(stdout).toContain(`the rest is in postgres://${username}@${host}/`)
    expect(stdout).not.toContain(`:${password}@`)
  })

  // What ran when it was killed is run one by one, which takes its time.
  test.each(ownDatabases)(
    'goes on after a kill -9, in a database of your own: %s',
    slow,
    async (_name, own) => {
      const env = { GLEANER_DATABASE: own.url }
      const first = start(process.execPath, ['examples/quickstart.ts'], { env })
      const end = ended(first)
      await line(first, /\d\.\d s .* done/)
      first.kill('SIGKILL')
      await end
      expect(await own.unfinished()).toBeGreaterThan(0)

      const { status, stdout } = await run('examples/quickstart.ts', { env })
      expect(status).toBe(0)
      expect(stdout).toMatch(/^\d+ tasks of an earlier run will be finished, too\.$/m)
      expect(stdout).toMatch(/^322 of 322 tasks done/m)
      expect(await own.unfinished()).toBe(0)
    },
  )
})

/** In a pseudo-terminal of 100 columns, which Node cannot make itself. */
async function onTerminal(env: Record<string, string>): Promise<Ran> {
  const command = `stty cols 100 rows 30; exec '${process.execPath}' examples/quickstart.ts`
  const args =
    process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', command] : ['-qec', command, '/dev/null']
  const child = start('script', args, { env: { TERM: 'xterm-256color', ...env } })
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Error('this test needs `script`, of util-linux (Linux) or the system (macOS)', { cause })),
    )
    ended(child).then(resolve, reject)
  })
}
