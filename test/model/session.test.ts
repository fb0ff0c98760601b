import { describe, expect, test } from 'vitest'
import type { Held } from '../../src/model/outcome.ts'
import { BROKEN_WORKER_CRASHES, CRASH_LIMIT, giveBack } from '../../src/model/session.ts'
import { heldTask } from './held.ts'

const tasks = (count: number, some: Partial<Held> = {}) =>
  Array.from({ length: count }, (_, n) => heldTask({ ...some, id: String(n + 1) }))

describe.each(['crash', 'stop', 'lease'] as const)('after a %s', (cause) => {
  test('a session that held nothing changes nothing', () => {
    expect(giveBack(cause, [])).toEqual({
      transitions: new Map(),
      blamed: null,
      forgiven: [],
      workerBroken: false,
    })
  })

  test.each([
    { started: true, several: false },
    { started: false, several: false },
    { started: true, several: true },
    { started: false, several: true },
  ])('what somebody cancelled is cancelled ($started, $several)', ({ started, several }) => {
    const held = tasks(several ? 3 : 1, { cancelRequested: true, started })
    expect([...giveBack(cause, held).transitions.values()]).toEqual(
      // An attempt that never started does not count.
      held.map(({ started, attempts }) => ({ to: 'cancelled', attempts: started ? attempts : attempts - 1 })),
    )
  })

  test('what was never started costs nobody anything', () => {
    const { transitions, blamed } = giveBack(cause, [heldTask({ started: false, attempts: 3 })])
    expect(transitions.get('1')).toMatchObject({ to: 'waiting', attempts: 2, crashes: 0, outcome: null })
    expect(blamed).toBe(null)
  })
})

test('a stop returns every attempt', () => {
  const { transitions } = giveBack('stop', tasks(3, { attempts: 3 }))
  for (const transition of transitions.values()) {
    expect(transition).toMatchObject({ to: 'waiting', attempts: 2, suspect: false, outcome: 'returned' })
  }
})

test('a lost lease costs the attempt, and no crash', () => {
  const { transitions, blamed } = giveBack('lease', tasks(2, { attempts: 2 }))
  for (const transition of transitions.values()) {
    expect(transition).toMatchObject({ to: 'waiting', attempts: 2, crashes: 0, suspect: false })
  }
  expect(blamed).toBe(null)
})

test('a lease lost in the last attempt is a failure', () => {
  const { transitions } = giveBack('lease', [heldTask({ attempts: 3 })])
  expect(transitions.get('1')).toMatchObject({ to: 'failed', outcome: 'lease', crashes: 0 })
})

test('a crash is charged to the only one that was running, who is run alone next', () => {
  const { transitions, blamed } = giveBack('crash', [heldTask()])
  expect(transitions.get('1')).toMatchObject({ to: 'waiting', attempts: 1, crashes: 1, suspect: true })
  expect(blamed).toBe('1')
})

test('the last of the allowed crashes is the end', () => {
  const { transitions } = giveBack('crash', [heldTask({ crashes: CRASH_LIMIT - 1, maxAttempts: 99 })])
  expect(transitions.get('1')).toMatchObject({
    to: 'failed',
    failure: { kind: 'crash' },
    crashes: CRASH_LIMIT,
  })
})

test('the limit of crashes can be set', () => {
  const { transitions } = giveBack('crash', [heldTask({ crashLimit: 1 })])
  expect(transitions.get('1')).toMatchObject({ to: 'failed', crashes: 1 })
})

test('a crash with several in hand makes all of them suspects and charges none, at whatever attempt', () => {
  const held = [...tasks(2, { attempts: 3, crashes: 2 }), heldTask({ id: '9', started: false })]
  const { transitions, blamed } = giveBack('crash', held)
  expect(blamed).toBe(null)
  for (const task of held) {
    expect(transitions.get(task.id)).toMatchObject({
      to: 'waiting',
      suspect: true,
      attempts: task.attempts - 1,
      crashes: task.crashes,
    })
  }
})

describe('a worker that crashes on one after the other', () => {
  const crashAfter = (...ids: string[]) => giveBack('crash', [heldTask({ id: '5' })], { blamedBefore: ids })

  test('is broken at the fifth that is different, and then nobody is charged', () => {
    const verdict = crashAfter('4', '3', '2', '1')
    expect(verdict).toMatchObject({ blamed: null, workerBroken: true, forgiven: ['4', '3', '2', '1'] })
    expect(verdict.transitions.get('5')).toMatchObject({ to: 'waiting', attempts: 0, crashes: 0 })
  })

  test('is not broken before', () => {
    expect(crashAfter('4', '3', '2')).toMatchObject({ blamed: '5', workerBroken: false, forgiven: [] })
  })

  test('is not broken when one of them comes twice', () => {
    for (const ids of [
      ['4', '3', '2', '5'],
      ['4', '4', '2', '1'],
    ]) {
      expect(crashAfter(...ids)).toMatchObject({ blamed: '5', workerBroken: false })
    }
  })

  test('forgives as many as the row is long', () => {
    expect(crashAfter('4', '3', '2', '1').forgiven).toHaveLength(BROKEN_WORKER_CRASHES - 1)
  })
})
