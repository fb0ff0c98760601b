import { describe, expect, test } from 'vitest'
import { checkConfig } from '../../src/config/check.ts'
import { defineConfig, defineDiscovery, defineTask } from '../../src/index.ts'

const rows = defineDiscovery({
  name: 'rows',
  table: 't',
  key: 'id',
  where: 'todo',
  done: () => ({ todo: 0 }),
})
const task = defineTask({ name: 'a', run: async () => 1 })
const check = (more: object) =>
  checkConfig({ database: 'sqlite:./app.db', tasks: [task], ...more }, '/srv/app/gleaner.config.ts', {})

describe('what a config may say', () => {
  test('everything that the design shows', () => {
    const config = defineConfig({
      database: 'sqlite:./app.db',
      tasks: [task],
      queues: { ml: { strategy: 'fifo' } },
      pools: {
        ml: { processes: 1, concurrency: 1, queues: ['ml'], capabilities: { gpu: true } },
        mail: { processes: 2, concurrency: 20, queues: ['default'], maxRss: 512e6, maxItems: 1000 },
        python: { command: ['python3', 'worker.py'], processes: 1, queues: ['py'] },
      },
      server: { host: '127.0.0.1', port: 8356 },
    })
    const { engine, pools, server } = checkConfig(config, '/srv/app/gleaner.config.ts', {})
    expect(engine).toMatchObject({ database: 'sqlite:/srv/app/app.db', tasks: [task] })
    expect(engine).not.toHaveProperty('pools')
    expect(pools.map(({ name, concurrency }) => [name, concurrency])).toEqual([
      ['ml', 1],
      ['mail', 20],
      ['python', 1],
    ])
    expect(server).toEqual({
      host: '127.0.0.1',
      port: 8356,
      tokens: [],
      authorize: undefined,
      local: false,
      hosts: [],
      redact: [],
    })
  })

  test('nothing: the defaults are those of the design', () => {
    expect(check({}).supervisor).toEqual({ name: undefined, timings: {}, limits: {} })
    expect(check({}).alerts).toEqual({
      everyMs: 15_000,
      backlog: 10_000,
      errorRate: 0.1,
      stalledAfterMs: 60_000,
    })
  })

  test('that there are no alerts', () => {
    const alerts = { backlog: false, errorRate: false, stalledAfter: false }
    expect(check({ alerts }).alerts).toMatchObject({ backlog: null, errorRate: null, stalledAfterMs: null })
  })
})

describe('what a config may not say is refused, with the field and the fix', () => {
  const pool = (options: unknown) => ({ pools: { ml: options } })
  const CASES: [string, object, RegExp][] = [
    [
      'an option that there is not',
      { pool: {} },
      /^pool is not an option\. Did you mean pools\? There are: database, .*, pools, server, supervisor, alerts\.$/,
    ],
    ['a task that is none', { tasks: [{ name: 'x' }] }, /is not a task/],
    ['a queue that is none', { queues: { ml: { strategy: 'best' } } }, /queues\.ml\.strategy: "best"/],
    ['a database that is none', { database: 'app.db' }, /database: this is not a database URL.*sqlite:/],
    ['no database', { database: undefined }, /database: undefined.*GLEANER_DATABASE/],
    ['pools as a list', { pools: [] }, /pools: an array is not valid\. Use an object/],
    [
      'a pool with a colon',
      { pools: { 'a:b': {} } },
      /pools: "a:b" is not valid\. Use a name without a colon/,
    ],
    ['a pool that is a number', pool(3), /pools\.ml: 3 is not valid\. Use an object/],
    [
      'an option of a pool that there is not',
      pool({ process: 2 }),
      /pools\.ml\.process is not an option\. Did you mean processes\? There are: processes/,
    ],
    ['no processes', pool({ processes: 0 }), /pools\.ml\.processes: 0 .*from 1 to 256/],
    ['half a process', pool({ processes: 1.5 }), /pools\.ml\.processes: 1\.5/],
    ['no resource error', pool({ resourceErrorLimit: 0 }), /pools\.ml\.resourceErrorLimit: 0/],
    ['concurrency as text', pool({ concurrency: '4' }), /pools\.ml\.concurrency: "4".*from 1 to 10000/],
    ['queues as text', pool({ queues: 'ml' }), /pools\.ml\.queues: "ml".*Use a list of names/],
    ['no queue', pool({ queues: [] }), /pools\.ml\.queues: .*Name at least one/],
    ['a queue without a name', pool({ queues: [''] }), /pools\.ml\.queues\[0\]: "" is not a name/],
    [
      'a discovery that is unknown',
      pool({ discoveries: ['tag'] }),
      /pools\.ml\.discoveries: "tag".*Add it to discoveries/,
    ],
    [
      'a discovery without a run in a pool without a command',
      { discoveries: [rows], ...pool({ discoveries: ['rows'] }) },
      /pools\.ml\.discoveries: "rows".*It has no `run`/,
    ],
    [
      'another order for a queue it does not serve',
      pool({ queues: ['a'], strategies: { b: 'lifo' } }),
      /pools\.ml\.strategies: the worker does not serve queue "b"/,
    ],
    [
      'an unknown order',
      pool({ queues: ['a'], strategies: { a: 'new' } }),
      /pools\.ml\.strategies\.a: "new"/,
    ],
    ['capabilities as a list', pool({ capabilities: ['gpu'] }), /pools\.ml\.capabilities: an array/],
    [
      'a command as text',
      pool({ command: 'python3 w.py', queues: ['py'] }),
      /pools\.ml\.command.*'python3', 'worker\.py'/,
    ],
    ['an empty command', pool({ command: [], queues: ['py'] }), /pools\.ml\.command/],
    [
      'a command without queues',
      pool({ command: ['python3'] }),
      /pools\.ml\.queues is missing beside a command/,
    ],
    [
      'an environment for no command',
      pool({ env: ['HF_HOME'] }),
      /pools\.ml\.env is only for a pool with a command/,
    ],
    [
      'a name of the environment that is none',
      pool({ command: ['python3'], queues: ['py'], env: ['HF HOME'] }),
      /pools\.ml\.env.*names to pass on/,
    ],
    ['a user by name', pool({ command: ['python3'], queues: ['py'], uid: 'www' }), /pools\.ml\.uid: "www"/],
    ['recycling at no memory', pool({ maxRss: 1 }), /pools\.ml\.maxRss: 1 is not valid/],
    ['recycling at no item', pool({ maxItems: 0 }), /pools\.ml\.maxItems: 0 is not valid/],
    ['a port that is none', { server: { port: 70_000 } }, /server\.port: 70000 .*0 to 65535/],
    ['an empty host', { server: { host: '' } }, /server\.host: ""/],
    ['a server that is none', { server: true }, /server: true/],
    [
      'hosts that are none',
      { server: { hosts: 'a.example' } },
      /server\.hosts: "a\.example".*array of strings/,
    ],
    ['an empty token', { server: { token: '' } }, /server\.token is not valid/],
    [
      'a drain that is no duration',
      { supervisor: { timings: { drain: 'soon' } } },
      /supervisor\.timings\.drain: "soon" is not a duration/,
    ],
    [
      'frames all the time',
      { supervisor: { timings: { frame: 0 } } },
      /supervisor\.timings\.frame: 0 .*at least 1 ms/,
    ],
    [
      'frames too seldom',
      { supervisor: { timings: { frame: '20s' } } },
      /supervisor\.timings has frames every 20000 ms.*frame < stale/,
    ],
    [
      'a timing that there is not',
      { supervisor: { timings: { drian: 1 } } },
      /supervisor\.timings\.drian is not an option\. Did you mean drain\? There are: frame, stale/,
    ],
    [
      'a limit of no crash',
      { supervisor: { limits: { total: 0 } } },
      /supervisor\.limits\.total: 0 is not valid/,
    ],
    ['an error rate in per cent', { alerts: { errorRate: 10 } }, /alerts\.errorRate: 10 .*0\.1 for 10 %/],
  ]
  test.each(CASES)('%s', (_what, more, expected) => {
    expect(() => check(more)).toThrow(expected)
  })
})
