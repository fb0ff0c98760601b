import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { LockNotifier } from '../../../src/store/sqlite/file/lock-notifier.ts'

const LONG_AGO = new Date(0)

function place() {
  const folder = mkdtempSync(join(tmpdir(), 'gleaner-bell-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'file.db')
  writeFileSync(`${path}-shm`, '')
  const bell = (workers = Number.POSITIVE_INFINITY) => {
    const made = new LockNotifier(path, () => workers)
    onTestFinished(() => made.close())
    return made
  }
  return { path, bell }
}

function once(bell: LockNotifier): Promise<void> {
  return new Promise((resolve) => bell.wait(resolve))
}

/** It comes too late again and again. */
function crowd(bell: LockNotifier): void {
  for (let n = 0; n < 25; n++) bell.wait(() => {})
}

/** Nobody tries again by himself. */
function withoutTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

test('who waits for the lock hears of its end from others who had to wait', { timeout: 20_000 }, async () => {
  const { bell } = place()
  const [one, other] = [bell(), bell()]
  withoutTimers()
  for (const waiting of [one, other]) crowd(waiting)
  const heard = new Promise<void>((resolve) => other.wait(resolve))
  one.released()
  await heard
})

test('who writes alone, or waits now and then, does not ring', async () => {
  const { path, bell } = place()
  utimesSync(`${path}-shm`, LONG_AGO, LONG_AGO)
  const alone = bell()
  alone.released()
  await once(alone)
  alone.released()
  expect(statSync(`${path}-shm`).mtime).toEqual(LONG_AGO)
})

test('who waits for somebody who does not ring tries again', async () => {
  const { bell } = place()
  const waiting = bell()
  for (let n = 0; n < 3; n++) await once(waiting)
})

test('a bell that is gone harms nobody', async () => {
  const { path, bell } = place()
  const waiting = bell()
  rmSync(`${path}-shm`)
  crowd(waiting)
  await once(waiting)
  waiting.released()
})

test('who waits for many others neither listens nor rings: each ring would wake all of them', async () => {
  const { path, bell } = place()
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const one = bell()
  // As long as many others have the lock, one after the other.
  one.wait(() => {})
  vi.advanceTimersByTime(1_000)
  one.acquired()
  one.released()
  utimesSync(`${path}-shm`, LONG_AGO, LONG_AGO)
  crowd(one)
  one.acquired()
  one.released()
  expect(statSync(`${path}-shm`).mtime).toEqual(LONG_AGO)
})

test('a process that has waited for longer than the others can need tries as often as one that waits for few', () => {
  const { bell } = place()
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const one = bell()
  let tries = 0
  const tryAgain = () => {
    tries += 1
    one.wait(tryAgain)
  }
  const triesWithin = (ms: number) => {
    tries = 0
    vi.advanceTimersByTime(ms)
    return tries
  }
  one.wait(tryAgain)
  triesWithin(20)
  expect(triesWithin(40)).toBeLessThan(20)
  triesWithin(100)
  expect(triesWithin(400)).toBeGreaterThan(100)
})

test('beside one or two workers nobody waits longer each time: what looks like many turns is the sync of an app', () => {
  const { bell } = place()
  const delays: number[] = []
  const timer = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((_then: () => void, ms: number) => {
    delays.push(ms)
  }) as typeof setTimeout)
  onTestFinished(() => timer.mockRestore())
  const now = vi.spyOn(performance, 'now')
  onTestFinished(() => now.mockRestore())
  const waitLong = (workers: number) => {
    delays.length = 0
    const waiting = bell(workers)
    for (let ms = 0; ms < 200; ms++) {
      now.mockReturnValue(ms)
      waiting.wait(() => {})
    }
    return Math.max(...delays)
  }
  expect(waitLong(2) < 3).toBe(true)
  expect(waitLong(Number.POSITIVE_INFINITY) > 3).toBe(true)
})
