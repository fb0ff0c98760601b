import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/table.ts'
import type { Worker } from '../../src/http/wire/types.ts'
import { until } from '../until.ts'
import { gleaner, type Said } from './cli.ts'
import { type Estate, greet, loose, openEstate, STORES, TOKEN, VIEWER, WAYS, type Way } from './estate.ts'
import { Journey } from './journey.ts'

/** Each command that works on a database and over HTTP alike, and what it must do there. */
type Proof = (world: World) => Promise<void>

class World {
  readonly estate: Estate
  readonly way: Way

  constructor(estate: Estate, way: Way) {
    this.estate = estate
    this.way = way
  }

  run(...args: string[]): Promise<Said> {
    return this.estate.run(this.way, ...args)
  }

  /** What it prints, when it succeeds. */
  async said(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args)
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
    return stdout
  }

  async json(...args: string[]): Promise<any> {
    return JSON.parse(await this.said(...args, '--json'))
  }

  /** A task that nobody runs, on a queue of this test's own. */
  async waiting(count = 1): Promise<{ queue: string; ids: string[] }> {
    const queue = `idle-${Math.random().toString(36).slice(2)}`
    const inputs = Array.from({ length: count }, () => ({ name: 'Ada', password: 'secret' }))
    const handles = await this.estate.app.enqueueMany(greet, inputs, { queue })
    return { queue, ids: handles.map(({ id }) => id) }
  }

  async ended(name: string): Promise<string> {
    const { id } = await this.estate.app.enqueue(greet, { name })
    await until('the task has ended', async () => (await this.estate.app.tasks.get(id))?.finishedAt !== null)
    return id
  }

  async status(id: string): Promise<string | undefined> {
    return (await this.estate.app.tasks.get(id))?.status
  }

  async quarantined(): Promise<string> {
    const keys = (await this.estate.addRows(2)).filter((id) => id % 2 === 1).map(String)
    await until('both are done with', async () => {
      const { items } = await this.estate.app.discoveries.rows('tag-files', { limit: 1_000 })
      return items.every(({ state }) => state === 'quarantined')
    })
    expect((await this.row(keys[0]!))?.state).toBe('quarantined')
    return keys[0]!
  }

  /** As its supervisor last reported it. */
  async worker(): Promise<Worker> {
    return (await this.estate.app.workers.list()).find(({ id }) => id === 'worker:main:0')!
  }

  untilWorker(what: string, isSo: (worker: Worker) => boolean): Promise<void> {
    return until(what, async () => isSo(await this.worker()))
  }

  row(key: string) {
    return this.estate.app.discoveries.row('tag-files', key)
  }
}

const PROOFS: Record<string, Proof> = {
  async enqueue(world) {
    const result = await world.run('enqueue', 'greet', '{"name":"Ada"}', '--wait', '50s')
    expect(result).toMatchObject({ code: 0, stderr: expect.stringMatching(/^enqueued greet as task \d+\n$/) })
    expect(JSON.parse(result.stdout)).toEqual({ greeting: 'Hello, Ada', password: '[redacted]' })
    const key = `k${Math.random()}`
    const options = ['--key', key, '--run-after', '1h', '--queue', 'later', '--priority', '7']
    const { id, created } = await world.json('enqueue', 'greet', '{"name":"Bob"}', ...options)
    expect(created).toBe(true)
    expect(await world.estate.app.tasks.get(id)).toMatchObject({
      status: 'scheduled',
      queue: 'later',
      priority: 7,
      key,
    })
    expect(await world.said('enqueue', 'greet', '{"name":"Bob"}', '--key', key)).toBe(
      `task ${id} holds the key: nothing was enqueued\n`,
    )
    const setting = { ...world.estate.place(world.way), stdin: '{"name":"nobody"}' }
    expect(await gleaner(setting, 'enqueue', 'greet', '-', '--wait', '50s')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/failed: Error: there is nobody\n$/),
    })
    const wrong = await world.run('enqueue', 'greet', '{"name":7}')
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain('does not fit its schema: name: ')
    expect((await world.run('enqueue', 'gret', '{}')).stderr).toBe(
      'error: there is no task gret\nDid you mean greet?\n',
    )
    expect((await world.run('enqueue', 'greet', '{name:1}')).code).toBe(2)
    expect(await world.run('enqueue', 'greet', '{"name":[9007199254740993]}')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('input.name.0: the number 9007199254740993 cannot be held exactly'),
    })
  },

  async status(world) {
    await world.untilWorker('it is well', ({ health, rss }) => health === 'healthy' && rss !== null)
    const overview = await world.json('status')
    expect(overview).toMatchObject({ supervisors: [{ name: 'estate', running: true }] })
    expect(Object.keys(overview).sort()).toEqual(
      [
        'alerts',
        'asOf',
        'components',
        'discoveries',
        'paused',
        'place',
        'queues',
        'supervisors',
        'workers',
      ].sort(),
    )
    const text = await world.said('status')
    expect(text).toMatch(/^Gleaner on (sqlite:|postgres|http:)/)
    expect(text).toMatch(/^worker:main:0 +running +healthy +\d+ +\d+ MB +0 +/m)
    expect(text).toMatch(/^tag-files +\d+ +\d+ +\d+ +\d+ +\d+$/m)
  },

  async 'tasks list'(world) {
    const { queue, ids } = await world.waiting(3)
    expect((await world.json('tasks', '--queue', queue)).items.map((one: any) => one.id).sort()).toEqual(
      ids.toSorted(),
    )
    const first = await world.json('tasks', 'list', '--queue', queue, '--limit', '2', '--status', 'queued')
    expect(first.items[0].input).toEqual({ name: 'Ada', password: '[redacted]' })
    const second = await world.json('tasks', '--queue', queue, '-s', 'queued', '--cursor', first.next)
    expect([...first.items, ...second.items].map((one) => one.id)).toEqual(ids)
    expect(second.next).toBeNull()
    const { code, stdout, stderr } = await world.run('tasks', '--queue', queue, '-n', '1', '-s', 'queued')
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        new RegExp(`^id +task .*\\n *${ids[0]} +greet +${queue} +queued +0/1 .* ago\\n$`),
      ),
    })
    expect(stderr).toMatch(/^there are more: pass --cursor \S+, or a larger --limit\n$/)
    expect(await world.said('tasks', '--queue', 'none', '--created-after', '5m')).toBe('no tasks\n')
  },

  async 'tasks show'(world) {
    const id = await world.ended('nobody')
    const text = await world.said('tasks', 'show', id)
    expect(text).toMatch(new RegExp(`^greet ${id}\\n +status +failed\\n`))
    expect(text).toContain('\nError: there is nobody\n')
    expect(text).toMatch(/^ +1 +error .*worker:main:0 +Error: there is nobody$/m)
    expect(await world.json('tasks', 'show', id)).toMatchObject({ id, status: 'failed', attempts: 1 })
    const { rawJSON: raw } = JSON as unknown as { rawJSON: (text: string) => unknown }
    const { id: other } = await world.estate.app.enqueue(loose, { id: raw('9007199254740993') } as never)
    for (const option of [[], ['--json']])
      expect(await world.said('tasks', 'show', other, ...option)).toContain('"id": 9007199254740993')
    expect(await world.run('tasks', 'show', '999999')).toMatchObject({
      code: 1,
      stderr: 'error: there is no task 999999\nIt was removed, or the id belongs to another database.\n',
    })
  },

  async 'tasks logs'(world) {
    const id = await world.ended('Ada')
    expect(await world.said('tasks', 'logs', id)).toMatch(
      /^\d{4}-.* #1 info {2}greeting Ada {"name":"Ada","password":"\[redacted\]"}\n$/,
    )
    expect(await world.json('tasks', 'logs', id)).toMatchObject({
      items: [{ level: 'info', message: 'greeting Ada', attempt: 1 }],
      next: null,
    })
    expect((await world.run('tasks', 'logs', '999999')).code).toBe(1)
    expect(await world.run('tasks', 'logs', id, '--follow')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d{4}-.* #1 info {2}greeting Ada .*\n$/),
      stderr: `task ${id} completed\n`,
    })
    const failed = await world.ended('nobody')
    const { code, stdout } = await world.run('tasks', 'logs', failed, '-f', '--json')
    expect(code).toBe(1)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { log: { message: 'greeting nobody' } },
      { ended: { id: failed, status: 'failed', error: { message: 'Error: there is nobody' } } },
    ])
    expect((await world.run('tasks', 'logs', '999999', '--follow')).code).toBe(1)
    expect((await world.run('tasks', 'logs', id, '--follow', '--limit', '3')).code).toBe(2)
  },

  async 'tasks steps'(world) {
    const [first] = await world.json('tasks', '--limit', '1').then((page: any) => page.items)
    expect(await world.said('tasks', 'steps', first.id)).toMatch(/^(no steps|step +kind)/)
    expect(await world.json('tasks', 'steps', first.id)).toBeInstanceOf(Array)
  },

  async 'tasks tree'(world) {
    const { queue, ids } = await world.waiting()
    const last = await world.estate.app.enqueue(greet, { name: 'Kim' }, { queue, after: [ids[0]!] })
    expect(await world.said('tasks', 'tree', last.id)).toBe(
      `${last.id} greet suspended\n  after: 0 of 1 completed, 1 unfinished\n    ${ids[0]} greet queued\n`,
    )
    expect(await world.json('tasks', 'tree', last.id)).toMatchObject({
      task: { id: last.id },
      flows: [{ flow: { kind: 'after', total: 1 }, tasks: [{ task: { id: ids[0] } }] }],
    })
    expect((await world.run('tasks', 'tree', '999999')).code).toBe(1)
  },

  async signal(world) {
    const { ids } = await world.waiting()
    expect(await world.said('signal', ids[0]!, 'approval', '{"by":"kim"}')).toBe(
      `the signal approval is kept for ${ids[0]}\n`,
    )
    expect(await world.json('signal', ids[0]!, 'approval')).toEqual({ resumed: false })
    expect(await world.json('tasks', 'steps', ids[0]!)).toMatchObject([
      { name: 'approval', kind: 'sent', value: { by: 'kim' } },
      { name: 'approval', kind: 'sent', value: null },
    ])
    expect((await world.run('signal', '999999', 'approval')).code).toBe(1)
    expect((await world.run('signal', ids[0]!, 'approval', '{by:1}')).code).toBe(2)
    const [row] = await world.estate.addRows(2)
    expect((await world.run('signal', `tag-files/${row! + 1_000_000}`, 'approval')).code).toBe(1)
  },
  async 'discoveries steps'(world) {
    expect(await world.said('discoveries', 'steps', 'tag-files', '1')).toMatch(/^(no steps|step +kind)/)
    expect(await world.json('discoveries', 'steps', 'tag-files', '1')).toBeInstanceOf(Array)
    expect((await world.run('discoveries', 'steps', 'gone', '1')).code).toBe(1)
  },
  async 'tasks attempts'(world) {
    const id = await world.ended('nobody')
    expect(await world.json('tasks', 'attempts', id)).toMatchObject([{ attempt: 1, outcome: 'error' }])
    expect(await world.said('tasks', 'attempts', id)).toMatch(/^ +1 +error /m)
  },

  async 'tasks explain'(world) {
    const { queue, ids } = await world.waiting()
    const text = await world.said('tasks', 'explain', ids[0]!)
    expect(text).toMatch(/^it does not run now:\n {2}ok {2}unfinished/)
    expect(text).toMatch(
      new RegExp(`  no  worker-serves-queue: no live worker serves queue ${queue}.*\\n      Start`),
    )
    expect(await world.json('tasks', 'explain', ids[0]!)).toMatchObject({ runnable: false })
    expect((await world.run('tasks', 'explain', '999999')).code).toBe(1)
  },

  async 'tasks retry'(world) {
    const id = await world.ended('nobody')
    expect(await world.said('tasks', 'retry', id)).toBe(`task ${id} is queued again\n`)
    const { ids } = await world.waiting()
    expect(await world.run('tasks', 'retry', ids[0]!)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: task \d+ is not finished\nOnly completed/),
    })
    await until('it has failed again', async () => (await world.status(id)) === 'failed')
    const text = 'there is nobody'
    expect(await world.said('tasks', 'retry', '--error', text, '--dry-run')).toMatch(
      /^(\d+) tasks? would be retried: \1 failed\n$/,
    )
    expect(await world.said('tasks', 'retry', '--error', text, '--yes')).toMatch(
      /^\d+ tasks? retried: \d+ failed\n$/,
    )
    await until('it has failed again', async () => (await world.status(id)) === 'failed')
  },

  async 'tasks cancel'(world) {
    const { queue, ids } = await world.waiting(3)
    expect(await world.said('tasks', 'cancel', ids[0]!)).toBe(`task ${ids[0]} is cancelled\n`)
    expect(await world.said('tasks', 'cancel', ids[0]!)).toBe(`task ${ids[0]} has finished already\n`)
    const refused = await world.run('tasks', 'cancel', '--queue', queue)
    expect(refused).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: Cancel 2 tasks: 2 queued: the command cannot ask without a terminal\nNothing was changed. Pass --yes to confirm.\n',
    })
    const asked = (answer: string) =>
      gleaner({ ...world.estate.place(world.way), answer }, 'tasks', 'cancel', '--queue', queue)
    expect(await asked('n')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Cancel 2 tasks: 2 queued? [y/N] \nnothing was changed\n',
    })
    expect(await world.status(ids[1]!)).toBe('queued')
    expect(await asked('y')).toMatchObject({ code: 0, stdout: '2 tasks cancelled: 2 queued\n' })
    expect(await world.status(ids[1]!)).toBe('cancelled')
    expect(await world.said('tasks', 'cancel', '--queue', queue)).toBe('0 tasks would be cancelled\n')
  },

  async 'tasks remove'(world) {
    const { queue, ids } = await world.waiting(3)
    const both = await world.run('tasks', 'remove', '999999', ids[0]!)
    expect(both).toEqual({
      code: 1,
      stdout: `task ${ids[0]} is removed\n`,
      stderr: 'error: there is no task 999999\n',
    })
    const removed = await world.json('tasks', 'remove', '--queue', queue, '--status', 'queued', '--yes')
    expect(removed).toEqual({
      changed: 2,
      statuses: { queued: 2 },
      refused: 0,
      refusals: [],
      dryRun: false,
    })
    expect(await world.status(ids[1]!)).toBeUndefined()
    const stays = await world.waiting(1)
    expect(await world.said('tasks', 'remove', '--queue', stays.queue, '--yes')).toBe(
      '0 tasks would be removed\n1 unfinished task stays: 1 queued\n',
    )
    expect((await world.json('tasks', 'list', '--running-longer-than', '10d')).items).toEqual([])
    expect((await world.json('tasks', 'list', '--requires', 'region=eu,gpu=true')).items).toEqual([])
    expect(await world.run('tasks', 'list', '--requires', 'region')).toMatchObject({ code: 2 })
    expect(
      await world.run('tasks', 'list', '--status', 'failed', '--running-longer-than', '1m'),
    ).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a task that is failed does not run'),
    })
  },

  async 'queues list'(world) {
    const { queue } = await world.waiting(2)
    const line = (await world.said('queues')).split('\n').find((one) => one.startsWith(queue))
    expect(line).toMatch(/ priority +2 +0 +0 +0 +0 +0 +0$/)
    expect(await world.json('queues', 'list')).toContainEqual(
      expect.objectContaining({ name: queue, queued: 2, paused: false }),
    )
  },

  async pause(world) {
    const { queue } = await world.waiting()
    expect(await world.said('pause', queue)).toBe(`queue ${queue} is paused\n`)
    const queues = await world.estate.app.queues.list()
    expect(queues.find(({ name }) => name === queue)?.paused).toBe(true)
    expect((await world.run('pause', `${queue}x`)).stderr).toBe(
      `note: the queue ${queue}x has never had a task; did you mean ${queue}?\n`,
    )
  },

  async resume(world) {
    const { queue } = await world.waiting()
    expect(await world.said('pause')).toBe('everything is paused\n')
    await world.untilWorker('it shows it', ({ status }) => status === 'paused')
    expect(await world.said('resume')).toBe('everything is resumed\n')
    await world.untilWorker('it goes on', ({ status }) => status === 'running')
    expect(await world.json('resume', queue)).toEqual({ queue, paused: false })
  },

  async 'discoveries list'(world) {
    expect(await world.said('discoveries')).toMatch(/^discovery +table .*\ntag-files +\S+ +\d+ +\d+ /)
    expect(await world.json('discoveries')).toMatchObject([{ name: 'tag-files', where: 'tagged = 0' }])
  },

  async 'discoveries show'(world) {
    const key = await world.quarantined()
    expect(await world.said('discoveries', 'show', 'tag-files')).toMatch(/^tag-files\n +table +\S*\n/)
    expect(await world.said('discoveries', 'show', 'tag-files', key)).toMatch(/state +quarantined\n/)
    expect(await world.json('discoveries', 'show', 'tag-files', key)).toMatchObject({ key, attempts: 1 })
    expect(await world.run('discoveries', 'show', 'tag-fils')).toMatchObject({
      code: 1,
      stderr: 'error: there is no discovery tag-fils\nDid you mean tag-files?\n',
    })
    expect((await world.run('discoveries', 'show', 'tag-files', '999999')).stderr).toContain(
      'error: the table of tag-files has no row 999999\n',
    )
  },

  async 'discoveries rows'(world) {
    const key = await world.quarantined()
    const rows = await world.json('discoveries', 'rows', 'tag-files', '--state', 'quarantined')
    expect(rows.items.map((one: any) => one.key)).toContain(key)
    expect(await world.said('discoveries', 'rows', 'tag-files', '--state', 'claimed')).toBe('no rows\n')
    expect(await world.said('discoveries', 'rows', 'tag-files')).toMatch(
      /^ *\d+ +quarantined +1 .*Error: odd$/m,
    )
  },

  async 'discoveries explain'(world) {
    const key = await world.quarantined()
    expect(await world.said('discoveries', 'explain', 'tag-files', key)).toMatch(
      / {2}no {2}not-quarantined: /,
    )
    expect(await world.json('discoveries', 'explain', 'tag-files', key)).toMatchObject({ runnable: false })
  },

  async 'discoveries retry'(world) {
    const key = await world.quarantined()
    const before = (await world.row(key))!.since!
    expect(await world.said('discoveries', 'retry', 'tag-files', key)).toBe(
      `row ${key} of tag-files is eligible again\n`,
    )
    await until('it was', async () => {
      const row = await world.row(key)
      return row?.state === 'quarantined' && row.since! > before
    })
    expect((await world.run('discoveries', 'retry', 'tag-files', '999999')).code).toBe(1)
  },

  async 'discoveries release'(world) {
    const key = await world.quarantined()
    await world.estate.app.discoveries.pause('tag-files')
    expect((await world.run('discoveries', 'release', 'tag-files')).code).toBe(2)
    expect(await world.said('discoveries', 'release', 'tag-files', key)).toBe(
      `row ${key} of tag-files is released\n`,
    )
    expect(await world.said('discoveries', 'release', 'tag-files', key)).toBe(
      `row ${key} of tag-files is not quarantined\n`,
    )
    expect(
      (await world.json('discoveries', 'release', 'tag-files', '--yes')).released,
    ).toBeGreaterThanOrEqual(0)
    expect(await world.json('discoveries', 'release', 'tag-files', '--yes')).toEqual({ released: 0 })
    await world.estate.app.discoveries.resume('tag-files')
  },

  async 'discoveries pause'(world) {
    expect(await world.said('discoveries', 'pause', 'tag-files')).toBe('discovery tag-files is paused\n')
    expect((await world.estate.app.discoveries.list())[0]?.paused).toBe(true)
  },

  async 'discoveries resume'(world) {
    expect(await world.json('discoveries', 'resume', 'tag-files')).toEqual({
      discovery: 'tag-files',
      paused: false,
    })
    expect((await world.estate.app.discoveries.list())[0]?.paused).toBe(false)
  },

  async 'schedules list'(world) {
    expect(await world.said('schedules')).toMatch(/^schedule .*\nnightly +1d +- +in [\d.]+ \w+ /)
    expect(await world.json('schedules')).toMatchObject([{ name: 'nightly', paused: false }])
  },

  async 'schedules pause'(world) {
    expect(await world.said('schedules', 'pause', 'nightly')).toBe('schedule nightly is paused\n')
    expect((await world.estate.app.schedules.list())[0]?.paused).toBe(true)
    expect((await world.run('schedules', 'pause', 'daily')).stderr).toMatch(
      /^error: there is not a schedule "daily"\n/,
    )
  },

  async 'schedules resume'(world) {
    expect(await world.said('schedules', 'resume', 'nightly')).toBe('schedule nightly is resumed\n')
    expect((await world.estate.app.schedules.list())[0]?.paused).toBe(false)
  },

  async 'schedules trigger'(world) {
    const { id } = await world.json('schedules', 'trigger', 'nightly')
    expect(await world.status(id)).toBe('queued')
    expect(await world.said('schedules', 'trigger', 'nightly')).toBe(
      `task ${id} of nightly is unfinished: nothing was enqueued\n`,
    )
    await world.estate.app.tasks.cancel(id)
  },

  async 'workers list'(world) {
    expect(await world.said('workers')).toMatch(/^worker:main:0 +running +healthy +/m)
    expect(await world.json('workers', 'list')).toMatchObject([{ id: 'worker:main:0', pool: 'main' }])
  },

  async 'workers pause'(world) {
    expect(await world.said('workers', 'pause', 'worker:main:0')).toMatch(/^worker:main:0 will be paused/)
    await world.untilWorker('it is', ({ status }) => status === 'paused')
    expect((await world.run('workers', 'pause', 'worker:main:1')).stderr).toBe(
      'error: there is no supervised worker worker:main:1\nDid you mean worker:main:0?\n',
    )
  },

  async 'workers resume'(world) {
    expect(await world.json('workers', 'resume')).toEqual({ worker: null, told: 'resume' })
    await world.untilWorker('it goes on', ({ status }) => status === 'running')
  },

  async 'workers restart'(world) {
    const { pid } = await world.worker()
    expect(await world.said('workers', 'restart')).toMatch(/^all workers will be restarted/)
    await world.untilWorker(
      'it is another process',
      (now) => now.pid !== pid && now.status === 'running' && now.health === 'healthy',
    )
  },

  async check(world) {
    expect(await world.said('check')).toBe('the database has no problems\n')
    expect(await world.json('check')).toEqual([])
  },

  async prune(world) {
    const id = await world.ended('Ada')
    expect(await world.said('prune')).toBe('0 tasks removed\n')
    expect(await world.status(id)).toBe('completed')
    expect((await world.run('prune', '--completed', '0s')).code).toBe(2)
    expect(await world.said('prune', '--failed', '1d', '--cancelled', '1h')).toBe('0 tasks removed\n')
    expect((await world.json('prune', '--completed', '0s', '--yes')).removed).toBeGreaterThan(0)
    expect(await world.status(id)).toBeUndefined()
  },
}

test('every command that takes --url has its proof', () => {
  const both = COMMANDS.filter(({ name, options }) => 'url' in options && name !== 'top')
  expect(Object.keys(PROOFS).sort()).toEqual(both.map(({ name }) => name).sort())
})

/** Real processes take their time: each store has one way, and each way one store. */
const FOLLOWED = { sqlite: 'direct', postgres: 'over HTTP' } as const

describe.each(STORES)('beside a running gleaner start on %s', (store) => {
  let estate: Estate
  beforeAll(async () => {
    estate = await openEstate(store)
  })
  afterAll(() => estate.close())

  describe.each(WAYS)('%s', (way) => {
    test.each(Object.entries(PROOFS))('gleaner %s', (_name, prove) => prove(new World(estate, way)))
  })

  test('gleaner tasks logs --follow tells what a worker process says, as it says it', async () => {
    const way = FOLLOWED[store]
    const file = join(estate.folder, 'there')
    const { id } = await estate.app.enqueue(greet, { name: file })
    const { cwd, env = {} } = estate.place(way)
    const follow = () => new Journey({ cwd, env }, 'tasks', 'logs', id, '--follow')
    const [following, interrupted] = [follow(), follow()]
    for (const one of [following, interrupted]) await one.hears(/#1 50 % half way\n/)
    expect(following.said).toMatch(/ #1 info {2}greeting \//)
    interrupted.signal('SIGINT')
    expect(await interrupted.ended).toEqual({ code: 130, signal: null })
    expect(interrupted.said).not.toMatch(/error|completed/)
    expect((await estate.app.tasks.get(id))?.status).toBe('running')
    writeFileSync(file, '')
    expect(await following.ended).toEqual({ code: 0, signal: null })
    expect(following.said).toMatch(/half way\n(.*\n)*.* #1 warn {2}it is there\n/)
    expect(following.said).toContain('attempt 1 runs on worker:main:0\n')
    expect(following.said).toContain(`task ${id} completed\n`)
  })

  test('a pause ends on whichever surface it is resumed, and a worker that was paused by its id stays paused', async () => {
    const world = new World(estate, FOLLOWED[store])
    const { app } = estate
    const { incarnation: first } = await world.worker()
    await world.said('pause')
    await world.untilWorker('it shows it', ({ status }) => status === 'paused')
    expect(await world.json('status')).toMatchObject({
      paused: true,
      discoveries: [{ paused: true, pausedReason: 'everything is paused' }],
    })
    expect(await world.said('status')).toMatch(
      /^everything is paused: .* `gleaner resume` ends the pause\.$/m,
    )
    await app.resume()
    await world.untilWorker('it goes on', ({ status }) => status === 'running')
    await world.ended('Ada')
    // A worker that was paused by its id is resumed by a command for workers alone.
    await world.said('workers', 'pause', 'worker:main:0')
    await world.untilWorker('it is paused', ({ status }) => status === 'paused')
    await world.said('pause')
    await world.said('resume')
    const { id } = await app.enqueue(greet, { name: 'Ada' })
    await world.said('workers', 'restart', 'worker:main:0')
    await until('the commands have arrived', async () => {
      const { incarnation, status } = await world.worker()
      return incarnation !== first && status !== 'starting'
    })
    expect({ ...(await world.worker()), task: await world.status(id) }).toMatchObject({
      status: 'paused',
      task: 'queued',
    })
    // The process that was replaced serves until it has left.
    const why =
      / {2}no {2}worker-not-paused: .* worker:main:0 is paused \(by a command\)\n.*run `gleaner workers resume`/
    await until('explain says so', async () => why.test(await world.said('tasks', 'explain', id)))
    await world.said('workers', 'resume')
    await until('it has run', async () => (await world.status(id)) === 'completed')
  })

  test('who may only look is told so, and who is unknown how to say who he is', async () => {
    const place = (token: string) => ({
      cwd: estate.folder,
      env: { GLEANER_URL: estate.url, GLEANER_TOKEN: token },
    })
    expect((await gleaner(place(VIEWER), 'queues')).code).toBe(0)
    expect(await gleaner(place(VIEWER), 'pause')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: a viewer may not do this\nThe role operator is needed.\n',
    })
    expect((await gleaner(place('wrong'), 'status')).stderr).toBe(
      'error: this token is not known here\nPass --token, or set GLEANER_TOKEN.\n',
    )
    const given = await gleaner({ cwd: estate.folder }, 'queues', '--url', estate.url, '--token', TOKEN)
    expect(given.code).toBe(0)
  })
})
