import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { count, ship } from '../../examples/python/tasks.ts'
import { systemClock } from '../../src/clock.ts'
import { defineTask, type Gleaner, type Task } from '../../src/index.ts'
import { type ForeignOptions, ForeignProgram, type ProgramEnd } from '../../src/process/foreign-program.ts'
import { doneByProgram } from '../../src/process/foreign-tasks.ts'
import type { Frame } from '../../src/process/frame.ts'
import { checkout } from '../config/files.ts'
import { gone } from '../supervisor/estate.ts'
import { openTemp, tempDatabase } from '../temp-database.ts'
import { until } from '../until.ts'

const LINE_MAX = 100_000
const job = defineTask({ name: 'job', queue: 'py', input: z.any(), retry: { attempts: 2, base: '1h' } })
const short = defineTask({
  name: 'short',
  queue: 'py',
  input: z.any(),
  timeout: '150ms',
  retry: { attempts: 1 },
})
const typed = defineTask({ name: 'typed', queue: 'py', input: z.any(), output: z.object({ n: z.number() }) })

/** What each of these programs does when it is told to run something. */
const PRELUDE = `
import json, os, sys, time
def say(type, id, **details):
    sys.stdout.write("TASK|" + json.dumps({"type": type, "id": id, **details}) + "\\n"); sys.stdout.flush()
def told():
    for line in sys.stdin:
        yield json.loads(line[5:])
`

interface Stage {
  gleaner: Gleaner
  crashed: Promise<ProgramEnd>
  frames: Frame[]
  output: string[]
  program: ForeignProgram
}

/** A worker whose tasks are done by this program. */
async function stage(
  command: readonly string[],
  tasks: readonly Task[] = [job, short, typed],
  options: { concurrency?: number; graceMs?: number; path?: string; batches?: boolean } = {},
): Promise<Stage> {
  const frames: Frame[] = []
  const output: string[] = []
  const { promise: crashed, resolve: onCrash } = Promise.withResolvers<ProgramEnd>()
  const program = await ForeignProgram.start({
    command,
    cwd: join(checkout, 'examples/python'),
    env: process.env,
    lineMax: LINE_MAX,
    graceMs: options.graceMs ?? 5_000,
    batches: options.batches ?? false,
    clock: systemClock,
    onFrame: (frame) => frames.push(frame),
    onOutput: (line) => output.push(line),
    onCrash,
  } satisfies ForeignOptions)
  const { path = tempDatabase() } = options
  const gleaner = await openTemp({ path, tasks: doneByProgram(tasks, program), timings: { grace: '5s' } })
  const worker = gleaner.work({ queues: ['py'], concurrency: options.concurrency ?? 1 })
  onTestFinished(async () => {
    await worker.stop({ drain: 0 })
    await program.stop()
  })
  return { gleaner, crashed, frames, output, program }
}

const python = (body: string) => ['python3', '-c', `${PRELUDE}\n${body}`]
const WAIT = { timeout: '20s' } as const

beforeAll(() => {
  try {
    execFileSync('python3', ['--version'])
  } catch (cause) {
    throw new Error('these tests need python3: apt install python3, or brew install python3', { cause })
  }
})

describe('the example in Python', () => {
  const command = ['python3', 'worker.py']

  test('does tasks, with results, progress and log lines', async () => {
    const { gleaner } = await stage(command, [count])
    const progress = Promise.withResolvers<number>()
    gleaner.on('progress', ({ fraction }) => progress.resolve(fraction))
    const text = 'wheat rye barley rye '.repeat(1_000)
    const handle = await gleaner.enqueue(count, { text })
    expect(await handle.result(WAIT)).toEqual({ wheat: 1_000, rye: 2_000, barley: 1_000 })
    expect(await progress.promise).toBeGreaterThan(0)
    const { items } = await gleaner.tasks.logs(handle.id)
    expect(items.map(({ level, message }) => [level, message])).toEqual([
      ['info', `counting ${text.length} characters`],
    ])
  })

  test('keeps steps and waits for a signal without holding the program', async () => {
    const { gleaner } = await stage(['python3', 'durable.py'], [ship])
    const suspended = new Promise((resolve) => gleaner.on('suspended', resolve))
    const handle = await gleaner.enqueue(ship, { order: 7 })
    await suspended
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ status: 'suspended', attempts: 0 })
    // The program is free for others meanwhile.
    const other = await gleaner.enqueue(ship, { order: 8 })
    await gleaner.signal(other.id, 'approval', { by: 'bob' })
    expect(await other.result(WAIT)).toEqual({ payment: 'pay_8', by: 'bob' })
    await gleaner.signal(handle.id, 'approval', { by: 'ada' })
    expect(await handle.result(WAIT)).toEqual({ payment: 'pay_7', by: 'ada' })
    const lines = (await gleaner.tasks.logs(handle.id)).items.map(({ message }) => message)
    expect(lines.filter((line) => line === 'charging order 7')).toEqual(['charging order 7'])
    expect((await gleaner.tasks.steps(handle.id)).map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'charge result',
      'approval signal',
    ])
  })

  test('is thirty lines of code', async () => {
    const { readFileSync } = await import('node:fs')
    const source = readFileSync(join(checkout, 'examples/python/worker.py'), 'utf8')
    expect(source.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(32)
  })
})

describe('a foreign program', () => {
  test('is given all that is known of a task', async () => {
    const { gleaner } = await stage(
      python('for m in told(): say("done", m["id"], result=m) if m["type"] == "run" else exit()'),
    )
    const before = Date.now()
    const handle = await gleaner.enqueue(job, { path: 'ä.flac' }, { timeout: '1m' })
    const told = (await handle.result(WAIT)) as Record<string, any>
    expect(told).toEqual({
      type: 'run',
      id: handle.id,
      name: 'job',
      input: { path: 'ä.flac' },
      attempt: 1,
      fence: expect.any(Number),
      suspect: false,
      deadline_ms: expect.any(Number),
    })
    expect(told.deadline_ms).toBeGreaterThanOrEqual(before + 60_000)
  })

  test('gets and gives integers of any length, with all their digits', async () => {
    const path = tempDatabase()
    const db = new Database(path)
    onTestFinished(() => void db.close())
    const { gleaner } = await stage(
      python(`
for m in told():
    if m["type"] != "run": exit()
    say("progress", m["id"], fraction=0.5, message=m["input"]["n"])
    say("log", m["id"], level="info", message=m["input"]["n"], details=m["input"])
    more = m["input"]["n"] + 2
    say("done", m["id"], result={"was": m["input"], "more": more, "small": 1} if m["name"] == "job" else {"n": more})`),
      [job, typed],
      { path },
    )
    const N = 9007199254740993n
    const progress = Promise.withResolvers<string | null>()
    gleaner.on('progress', ({ message }) => progress.resolve(message))
    await gleaner.queues.pause('py')
    const handle = await gleaner.enqueue(job, {})
    // As somebody may have written it who has such integers.
    db.prepare('UPDATE gleaner_tasks SET input = ? WHERE id = ?').run(`{"n":${N}}`, Number(handle.id))
    await gleaner.queues.resume('py')
    const result = { was: { n: N }, more: N + 2n, small: 1 }
    expect(await handle.result(WAIT)).toEqual(result)
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ input: { n: N }, result })
    const { items } = await gleaner.tasks.logs(handle.id)
    expect(items).toMatchObject([{ message: String(N), details: { n: N } }])
    expect(await progress.promise).toBe(String(N))
    // `output` says what it should be: rounded, it would fit.
    const strict = await gleaner.enqueue(typed, { n: 2 ** 53 - 1 })
    await expect(strict.result(WAIT)).rejects.toMatchObject({ kind: 'permanent' })
  })

  test('fails a task: to be tried again by its policy, after a time of its own, or never', async () => {
    const { gleaner } = await stage(
      python(`
for m in told():
    if m["type"] == "run": say("failed", m["id"], error={"message": "ValueError: no", "stack": "line 1"}, **m["input"])
    else: exit()`),
    )
    const failing = Promise.withResolvers<void>()
    const delays = new Map<string, number>()
    gleaner.on('retrying', ({ id, afterMs }) => delays.set(id, afterMs).size === 2 && failing.resolve())
    const policy = await gleaner.enqueue(job, {})
    const own = await gleaner.enqueue(job, { retry: 7_000 })
    const never = await gleaner.enqueue(job, { retry: false })
    await expect(never.result(WAIT)).rejects.toMatchObject({ kind: 'permanent' })
    await failing.promise
    expect(delays.get(own.id)).toBe(7_000)
    expect(delays.get(policy.id)).toBeGreaterThan(200_000)
    const attempts = await gleaner.tasks.attempts(own.id)
    expect(attempts.at(-1)?.error).toMatchObject({
      kind: 'error',
      message: 'ValueError: no',
      stack: 'line 1',
    })
  })

  test('reports a resource error: the worker is broken, and the item loses no attempt', async () => {
    const { gleaner } = await stage(
      python(`
for m in told():
    kind = "resource" if m["input"] == "gpu" else "permanent" if m["input"] == "bad" else "nonsense"
    say("failed", m["id"], error={"message": "the GPU fell off the bus", "kind": kind})
`),
    )
    const returned = Promise.withResolvers<string>()
    gleaner.on('returned', ({ id }) => returned.resolve(id))
    const gpu = await gleaner.enqueue(job, 'gpu')
    expect(await returned.promise).toBe(gpu.id)
    expect(await gleaner.tasks.get(gpu.id)).toMatchObject({
      attempts: 0,
      error: { message: 'the GPU fell off the bus', stack: null },
    })
    const [worker] = await gleaner.workers.list()
    expect(worker!.counters).toMatchObject({ consecutive_errors: 1, errors: 0 })
    const bad = await gleaner.enqueue(job, 'bad')
    await expect(bad.result(WAIT)).rejects.toMatchObject({ kind: 'permanent' })
    // A kind that does not exist is no answer: the log of the task says so.
    const nonsense = await gleaner.enqueue(job, 'other')
    await until('it is in the log', async () => {
      const { items } = await gleaner.tasks.logs(nonsense.id)
      return items.some(({ message }) => message.includes('kind is not one of error, permanent, resource'))
    })
  })

  test('is told which item is a suspect', async () => {
    const { gleaner } = await stage(python('for m in told(): say("done", m["id"], result=m["suspect"])'))
    expect(await (await gleaner.enqueue(job, 1)).result(WAIT)).toBe(false)
  })

  test('is told of a cancel, and may end the task itself', async () => {
    const { gleaner } = await stage(
      python(`
for m in told():
    if m["type"] == "run": say("progress", m["id"], fraction=0.5)
    elif m["type"] == "cancel": say("failed", m["id"], error="cancelled: " + m["reason"])
    else: exit()`),
    )
    gleaner.on('progress', ({ id }) => gleaner.tasks.cancel(id))
    const handle = await gleaner.enqueue(job, {})
    await expect(handle.result(WAIT)).rejects.toMatchObject({ code: 'TASK_CANCELLED' })
  })

  test('that hangs past the deadline is killed and replaced; the others in flight lose nothing', async () => {
    const { gleaner, program } = await stage(
      python(`
for m in told():
    if m["type"] == "run" and m["input"] == "hang": time.sleep(600)
    elif m["type"] == "run" and m["attempt"] == 1 and m["input"] == "wait": pass
    elif m["type"] == "run": say("done", m["id"], result=os.getpid())`),
      [job, short],
      { concurrency: 2, graceMs: 100 },
    )
    const before = program.pid
    const returned = Promise.withResolvers<string>()
    gleaner.on('returned', ({ id }) => returned.resolve(id))
    const waiting = await gleaner.enqueue(job, 'wait')
    const hanging = await gleaner.enqueue(short, 'hang')
    await expect(hanging.result(WAIT)).rejects.toMatchObject({ kind: 'timeout' })
    expect(await returned.promise).toBe(waiting.id)
    await waiting.cancel()
    const next = await gleaner.enqueue(job, 'ask')
    expect(await next.result(WAIT)).not.toBe(before)
    expect((await gleaner.tasks.get(waiting.id))?.attempts).toBeLessThanOrEqual(1)
    expect((await gleaner.tasks.attempts(waiting.id)).filter(({ error }) => error !== null)).toEqual([])
  })

  test.skipIf(process.platform !== 'linux')(
    'that heeds no cancel is killed with all that it has started, also what left its group',
    async () => {
      const { gleaner, output, program } = await stage(
        python(`
import subprocess
for m in told():
    if m["type"] != "run": exit()
    if m["input"] != "hang": say("done", m["id"], result=os.getpid()); continue
    near = subprocess.Popen(["sleep", "600"]).pid
    out = subprocess.run(["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"], capture_output=True, start_new_session=True)
    say("progress", m["id"], fraction=0, message=f"{near} {int(out.stdout)}")
    time.sleep(600)`),
        [job],
        { graceMs: 100 },
      )
      const before = program.pid
      const started = Promise.withResolvers<number[]>()
      gleaner.on('progress', ({ message }) => started.resolve(message!.split(' ').map(Number)))
      const hanging = await gleaner.enqueue(job, 'hang')
      const pids = await started.promise
      for (const pid of pids) expect(existsSync(`/proc/${pid}`)).toBe(true)
      await hanging.cancel()
      await Promise.all(pids.map(gone))
      // The next one comes when the pipes of this one are closed, and nothing holds them.
      const next = await gleaner.enqueue(job, 'ask')
      expect(await next.result(WAIT)).not.toBe(before)
      expect(output.join('\n')).toMatch(/killed the processes that the program had started: .*\(sleep\)/)
    },
  )

  test('that says what nobody understands goes on, and the task has it in its log', async () => {
    const { gleaner } = await stage(
      python(`
for m in told():
    if m["type"] != "run": exit()
    print("TASK|{", "TASK|[]", "TASK|{}", 'TASK|{"type":"done"}', 'TASK|{"type":"dance","id":"1"}', sep="\\n")
    print('TASK|{"type":"done","id":"4711"}', "plain", sep="\\n")
    print('TASK|{"type":"progress","id":"%s","fraction":2}' % m["id"])
    sys.stderr.write("to stderr\\n"); sys.stderr.flush()
    say("log", m["id"], level="error", message="told", details={"n": 1})
    say("done", m["id"])`),
    )
    const handle = await gleaner.enqueue(job, {})
    expect(await handle.result(WAIT)).toBeUndefined()
    const { items } = await gleaner.tasks.logs(handle.id)
    const lines = items.map(({ level, message }) => `${level} ${message}`)
    expect(lines).toEqual(
      expect.arrayContaining([
        'warn not understood, it is not a JSON object: TASK|{',
        'warn not understood, it has no id: TASK|{"type":"done"}',
        'warn there is no task 4711 here: TASK|{"type":"done","id":"4711"}',
        'info plain',
        'warn to stderr',
        'error told',
      ]),
    )
    expect(lines).toHaveLength(10)
  })

  test('whose answer is too long to be read has failed for good, and memory stays bounded', async () => {
    const { gleaner, program } = await stage(
      python(`
for m in told():
    if m["type"] != "run": exit()
    if m["input"] == "short": say("done", m["id"], result=1); continue
    sys.stdout.write('TASK|{"type":"done","id":"%s","result":"' % m["id"])
    for i in range(200): sys.stdout.write("x" * 1000000)
    sys.stdout.write('"}\\n'); sys.stdout.flush()`),
    )
    const before = process.memoryUsage().rss
    const handle = await gleaner.enqueue(job, 'long')
    await expect(handle.result(WAIT)).rejects.toMatchObject({
      kind: 'permanent',
      message: expect.stringContaining('results end at 100000'),
    })
    expect(process.memoryUsage().rss - before).toBeLessThan(150e6)
    expect(await (await gleaner.enqueue(job, 'short')).result(WAIT)).toBe(1)
    expect(program.pid).toBeDefined()
  })

  test("whose result is not what the task's output says has failed for good", async () => {
    const { gleaner } = await stage(
      python('for m in told(): say("done", m["id"], result={"n": "one"}) if m["type"] == "run" else exit()'),
    )
    const handle = await gleaner.enqueue(typed, {})
    await expect(handle.result(WAIT)).rejects.toMatchObject({ kind: 'permanent' })
  })

  test.each([
    ['kill -9', 'os.kill(os.getpid(), 9)', { code: null, signal: 'SIGKILL' }],
    ['exit 3', 'os._exit(3)', { code: 3, signal: null }],
    ['exit 0', 'os._exit(0)', { code: 0, signal: null }],
  ])(
    'that ends without being asked to (%s) is a crash, and its last words are kept',
    async (_how, die, end) => {
      const { gleaner, crashed } = await stage(
        python(`
for m in told():
    print("last words"); sys.stdout.flush()
    ${die}`),
      )
      await gleaner.enqueue(job, {})
      expect(await crashed).toEqual(end)
    },
  )

  test('that is not there is an error that says so', async () => {
    await expect(stage(['no-such-program-at-all'])).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringContaining('no-such-program-at-all could not be started'),
    })
  })

  test('writes health frames on descriptor 3; anything else there is noise', async () => {
    const { gleaner, frames, output } = await stage(
      python(`
print("at the beginning"); sys.stdout.flush()
health = os.fdopen(3, "w")
health.write('noise\\n' + 'x' * 1000000 + '\\n')
health.write('HEALTH|{"component_id":"worker:py:0","status":"healthy","phase":"idle"}\\n'); health.flush()
for m in told(): say("done", m["id"]) if m["type"] == "run" else exit()`),
    )
    await expect.poll(() => [frames.length, output.length]).toEqual([1, 1])
    await (await gleaner.enqueue(job, {})).result(WAIT)
    expect(frames[0]).toMatchObject({ componentId: 'worker:py:0', status: 'healthy', phase: 'idle' })
    expect(output).toEqual(['at the beginning'])
  })

  test('that ignores stop, the end of its stdin and SIGTERM is killed', async () => {
    const { program, output } = await stage(
      python(
        'import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint("deaf", flush=True)\ntime.sleep(60)',
      ),
      [job],
      { graceMs: 100 },
    )
    await expect.poll(() => output, { timeout: 20_000 }).toEqual(['deaf'])
    // Long before it would end by itself.
    expect(await Promise.race([program.stop(), sleep(30_000, 'still there', { ref: false })])).toBe(undefined)
    expect(() => process.kill(program.pid!, 0)).toThrow('ESRCH')
  })
})

describe('a program that takes batches', () => {
  const bulk = defineTask({
    name: 'bulk',
    queue: 'py',
    input: z.number(),
    output: z.number(),
    retry: { attempts: 1 },
    batch: { size: 10, wait: '50ms' },
  })

  async function outcomes(command: readonly string[], batches = true) {
    const { gleaner, output } = await stage(command, [bulk], { batches })
    const handles = await gleaner.enqueueMany(
      bulk,
      Array.from({ length: 10 }, (_, n) => n),
    )
    const ends = await Promise.allSettled(handles.map((handle) => handle.result(WAIT)))
    const logs = await gleaner.tasks.logs(handles[0]!.id)
    return {
      output,
      logs: logs.items.map(({ message }) => message),
      results: ends.map((end) => (end.status === 'fulfilled' ? end.value : (end.reason as Error).message)),
    }
  }

  test('answers for each item, or for all at once', async () => {
    const each = await outcomes(
      python(`
for m in told():
    if m["type"] != "batch": continue
    for item in m["items"]:
        if item["input"] == 3: say("failed", item["id"], error={"message": "no three", "kind": "permanent"})
        else: say("done", item["id"], result=item["input"] * 2)
`),
    )
    expect(each.results).toEqual([0, 2, 4, expect.stringContaining('no three'), 8, 10, 12, 14, 16, 18])
    const all = await outcomes(
      python(`
for m in told():
    if m["type"] == "batch":
        say("log", m["id"], message="a batch of %d" % len(m["items"]))
        say("done", m["id"], result=[item["input"] * 2 for item in m["items"]])
`),
    )
    expect(all.results).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
    expect(all.logs).toEqual(['a batch of 10'])
  })

  test('and fails one as a whole gets its halves, and the item that is to blame fails alone', async () => {
    const { results, logs } = await outcomes(
      python(`
for m in told():
    if m["type"] != "batch": continue
    inputs = [item["input"] for item in m["items"]]
    say("log", m["id"], message=str(len(inputs)))
    if 6 in inputs: say("failed", m["id"], error="cannot do this")
    else: say("done", m["id"], result=inputs)
`),
    )
    expect(results).toEqual([0, 1, 2, 3, 4, 5, expect.stringContaining('cannot do this'), 7, 8, 9])
    expect(logs).toEqual(['10', '5'])
  })

  test('is one whose pool says so: otherwise it gets one item after the other', async () => {
    const { results } = await outcomes(
      python(`
for m in told():
    if m["type"] == "run": say("done", m["id"], result=m["input"] + 1)
`),
      false,
    )
    expect(results).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })
})
