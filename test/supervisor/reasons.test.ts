import { expect, test } from 'vitest'
import type { Frame } from '../../src/process/frame.ts'
import { reasonOf } from '../../src/supervisor/death.ts'

const KILLED = { code: null, signal: 'SIGKILL', error: null } as const
const NOTHING = { inFlight: false, blamed: null, workerBroken: false }

test('a worker that died with its first item is not said to have died before it was ready', () => {
  const child = { ending: null, frame: null, ready: false }
  expect(reasonOf(child, KILLED)).toBe('killed by SIGKILL, before it reported that it was ready')
  expect(reasonOf(child, KILLED, NOTHING)).toBe('killed by SIGKILL, before it reported that it was ready')
  // What it held is known from the database a moment later.
  expect(reasonOf(child, KILLED, { ...NOTHING, inFlight: true, blamed: '7' })).toBe(
    'killed by SIGKILL, while running 7',
  )
  expect(reasonOf(child, KILLED, { ...NOTHING, inFlight: true })).toBe('killed by SIGKILL')
})

test('a worker that died at work is said to have run what its last frame named', () => {
  const frame = { currentJob: 'mail/7' } as Frame
  expect(reasonOf({ ending: null, frame, ready: true }, KILLED, NOTHING)).toBe(
    'killed by SIGKILL, while running mail/7',
  )
})
