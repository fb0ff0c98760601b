import { join } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { Child } from '../journeys/child.ts'
import { Place, test } from '../journeys/place.ts'
import { type Library, using } from './programs/library.ts'
import { type Call, hasCompiler, hasStrace, openTracer, shim, strace, type Tracer } from './syscalls.ts'
import { EFFECTS } from './tasks.ts'

const COUNT = 25

/** The calls between two marks. */
function part(calls: Call[], from: string, to: string): Call[] {
  const at = (text: string) => calls.findIndex((call) => call.kind === 'mark' && call.text === `[${text}]`)
  return calls.slice(at(from) + 1, at(to))
}

const isMark = (text: string) => (call: Call) => call.kind === 'mark' && call.text === `[${text}]`
const isLogSync = (call: Call) => call.kind === 'sync' && call.file.endsWith('-wal')
const isLogWrite = (call: Call) => call.kind === 'write' && call.file.endsWith('-wal')

/** Each time this was promised: the calls from the question to the answer. */
function promisesOf(calls: Call[], what: string): Call[][] {
  const promises: Call[][] = []
  for (const [index, call] of calls.entries()) {
    if (!isMark(`ask ${what}`)(call)) continue
    const rest = calls.slice(index + 1)
    promises.push(rest.slice(0, rest.findIndex(isMark(`got ${what}`))))
  }
  return promises
}

/** Something was written, and what was written last was synced before the answer. */
function isSafe(promise: Call[]): boolean {
  const lastWrite = promise.findLastIndex(isLogWrite)
  return lastWrite >= 0 && promise.findLastIndex(isLogSync) > lastWrite
}

async function trace(
  place: Place,
  tracer: Tracer,
  durability: 'full' | 'normal',
  library: Library = 'better-sqlite3',
): Promise<Call[]> {
  const gleaner = await place.open()
  await gleaner.close()
  place.connect().exec(EFFECTS)
  const program = join(import.meta.dirname, 'programs/promises.ts')
  const argument = { database: place.database, durability, count: COUNT }
  const child = place.keep(new Child(program, argument, { ...tracer.env, ...using(library) }, tracer.command))
  expect(await child.ended, child.errors).toEqual({ code: 0, signal: null })
  return tracer.calls()
}

// The system calls are Linux's; elsewhere SQLite has others for the same.
describe.runIf(process.platform === 'linux')('as the system calls show', () => {
  let full: Call[]
  let normal: Call[]

  beforeAll(async () => {
    const traced = async (durability: 'full' | 'normal') => {
      const place = new Place()
      try {
        return await trace(place, openTracer(place.folder), durability)
      } finally {
        await place.clear()
      }
    }
    full = await traced('full')
    normal = await traced('normal')
  })

  test('no enqueue is answered before its bytes are synced', () => {
    const promises = promisesOf(full, 'enqueue')
    expect(promises).toHaveLength(COUNT)
    expect(promises.map(isSafe)).toEqual(Array(COUNT).fill(true))
  })

  test('each of many enqueues one by one has a sync of its own, and no more', () => {
    expect(part(full, 'one by one', 'together').filter(isLogSync)).toHaveLength(COUNT)
  })

  test('a hundred enqueues at the same time share a few syncs', () => {
    const together = part(full, 'together', 'management')
    expect(together.filter(isMark('got together'))).toHaveLength(100)
    const firstAnswer = together.findIndex(isMark('got together'))
    expect(isSafe(together.slice(0, firstAnswer))).toBe(true)
    const syncs = together.filter(isLogSync).length
    expect(syncs).toBeGreaterThanOrEqual(1)
    expect(syncs).toBeLessThanOrEqual(3)
  })

  for (const what of [
    'complete',
    'cancel',
    'retry',
    'remove',
    'pause',
    'resume',
    'pause of a queue',
    'resume of a queue',
  ]) {
    test(`${what} is not answered before its bytes are synced`, () => {
      const promises = promisesOf(full, what)
      expect(promises).toHaveLength(1)
      expect(promises.map(isSafe)).toEqual([true])
    })
  }

  test('plain completions and claims do not wait for the disk', () => {
    const calls = part(full, 'plain completions', 'completions with effects')
    expect(calls.some(isLogWrite)).toBe(true)
    expect(calls.filter(isLogSync)).toEqual([])
  })

  test('with node:sqlite, too, nothing is answered before its bytes are synced', async ({ place }) => {
    const calls = await trace(place, openTracer(place.folder), 'full', 'node:sqlite')
    const counts = { enqueue: COUNT, complete: 1, cancel: 1, retry: 1, remove: 1, pause: 1 }
    for (const [what, count] of Object.entries(counts))
      expect(promisesOf(calls, what).map(isSafe), what).toEqual(Array(count).fill(true))
    expect(part(calls, 'plain completions', 'completions with effects').filter(isLogSync)).toEqual([])
  })

  test("with durability 'normal' no enqueue waits for the disk", () => {
    const promises = promisesOf(normal, 'enqueue')
    expect(promises).toHaveLength(COUNT)
    expect(promises.every((promise) => promise.some(isLogWrite))).toBe(true)
    expect(promises.flat().filter(isLogSync)).toEqual([])
  })
})

// Where only one of them is, that one is used; where both are, each is the other's check.
test.runIf(hasStrace() && hasCompiler())(
  'strace, and what stands in for it, see the same',
  async ({ place }) => {
    const seen = []
    for (const open of [strace, shim]) {
      const own = new Place()
      const calls = await trace(own, open(place.folder), 'full')
      await own.clear()
      seen.push({
        syncs: part(calls, 'one by one', 'together').filter(isLogSync).length,
        safe: promisesOf(calls, 'enqueue').map(isSafe),
      })
    }
    expect(seen[1]).toEqual(seen[0])
    expect(seen[0]).toEqual({ syncs: COUNT, safe: Array(COUNT).fill(true) })
  },
)
