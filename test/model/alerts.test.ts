import { describe, expect, test } from 'vitest'
import { type AlertLimits, type AlertSituation, alertsOf, type Demand } from '../../src/model/alerts.ts'
import { type Measured, MINUTE_MS, type Present, ROWS } from '../../src/model/metrics.ts'

const LIMITS: AlertLimits = { backlog: 100, errorRate: 0.1, stalledAfterMs: MINUTE_MS }
const NOW = 1_000 * MINUTE_MS + 30_000
const MINUTE = 1_000 * MINUTE_MS
const worker = { queues: ['mail'], names: ['send'], capabilities: {}, discoveries: [] as string[] }

interface Told {
  present?: Partial<Present>[]
  minutes?: (Partial<Measured> & { minute?: number })[]
  waiting?: Partial<Demand['waiting'][number]>[]
  workers?: Partial<Demand['workers'][number]>[]
  paused?: string[]
  discoveries?: AlertSituation['discoveries']
}

function situation({
  present = [],
  minutes = [],
  waiting = [],
  workers = [worker],
  paused = [],
  discoveries = [],
}: Told): AlertSituation {
  const of = { queue: 'mail', name: 'send' }
  const none = { enqueued: 0, completed: 0, failed: 0, retried: 0, durations: new Map() }
  return {
    readings: {
      now: NOW,
      present: present.map((one) => ({
        ...of,
        scheduled: 0,
        queued: 0,
        running: 0,
        suspended: 0,
        waitingSince: null,
        ...one,
      })),
      minutes: minutes.map((one) => ({ ...of, ...none, minute: MINUTE, ...one })),
    },
    demand: {
      waiting: waiting.map((one) => ({ ...of, requires: null, count: 1, ...one })),
      workers: workers as Demand['workers'],
    },
    pausedQueues: new Set(paused),
    discoveries,
  }
}
const alerts = (told: Told, limits = LIMITS) => alertsOf(situation(told), limits)
const kinds = (told: Told, limits = LIMITS) => alerts(told, limits).map(({ kind }) => kind)
const PRESENT = [{ queued: 3, waitingSince: NOW }]

describe('items that no live worker serves', () => {
  test('are an alert that says what is missing', () => {
    expect(alerts({ present: PRESENT, waiting: [{ count: 3 }], workers: [] })).toEqual([
      {
        kind: 'unserved',
        queue: 'mail',
        discovery: null,
        message: '3 waiting in mail that no live worker serves: send',
        fix: 'Start a worker for the queue mail.',
      },
    ])
    expect(alerts({ present: PRESENT, waiting: [{ name: 'other' }] })[0]?.fix).toBe(
      'Start a worker that has the code of these tasks.',
    )
    expect(alerts({ present: PRESENT, waiting: [{ requires: { gpu: true } }] })[0]?.fix).toBe(
      'Start a worker with these capabilities: {"gpu":true}.',
    )
  })

  test('are none where a worker serves them, or the queue is paused', () => {
    expect(kinds({ present: PRESENT, waiting: [{}] })).toEqual([])
    const able = [{ ...worker, capabilities: { gpu: true } }]
    expect(kinds({ present: PRESENT, waiting: [{ requires: { gpu: true } }], workers: able })).toEqual([])
    expect(kinds({ present: PRESENT, waiting: [{}], workers: [], paused: ['mail'] })).toEqual([])
  })
})

describe('an error rate', () => {
  test.each([
    [{ completed: 90, failed: 10 }, []],
    [{ completed: 89, failed: 11 }, ['error-rate']],
    [{ completed: 89, retried: 11 }, ['error-rate']],
    [{ completed: 9, failed: 10 }, []],
  ])('of %j is %j', (measured, expected) => {
    expect(kinds({ minutes: [measured] })).toEqual(expected)
  })

  test('names the task that fails most', () => {
    const minutes = [
      { name: 'a', completed: 80, failed: 5 },
      { name: 'b', failed: 15 },
    ]
    expect(alerts({ minutes })[0]?.message).toBe('20 % of 100 attempts in mail failed, most of b')
  })
})

test('a backlog above the limit is an alert, also where it is paused', () => {
  expect(kinds({ present: [{ queued: 100, waitingSince: NOW }] })).toEqual([])
  expect(kinds({ present: [{ queued: 101, waitingSince: NOW }], paused: ['mail'] })).toEqual(['backlog'])
})

describe('nothing completed for a minute', () => {
  const waiting = [{ queued: 2, running: 1, waitingSince: NOW - MINUTE_MS }]

  test('is an alert while work waits', () => {
    expect(alerts({ present: waiting })[0]?.message).toBe(
      'nothing completed in mail for 60 s while 2 wait; 1 running',
    )
    const [long, minutes] = [
      [{ ...waiting[0]!, waitingSince: 0 }],
      [{ completed: 1, minute: MINUTE - 3 * MINUTE_MS }],
    ]
    expect(alerts({ present: long, minutes })[0]?.message).toContain('nothing completed in mail for 150 s')
    // Further back it was not read.
    expect(alerts({ present: long })[0]?.message).toContain('nothing completed in mail for 300 s')
    expect(kinds({ present: waiting, minutes: [{ failed: 1 }] })).toEqual(['stalled'])
  })

  test('is none when something was completed, nothing waits for so long, or it is paused', () => {
    expect(kinds({ present: waiting, minutes: [{ completed: 1 }] })).toEqual([])
    expect(kinds({ present: waiting, minutes: [{ completed: 1, minute: MINUTE - MINUTE_MS }] })).toEqual([])
    expect(kinds({ present: waiting, minutes: [{ completed: 1, minute: MINUTE - 2 * MINUTE_MS }] })).toEqual([
      'stalled',
    ])
    expect(kinds({ present: [{ queued: 2, waitingSince: NOW - MINUTE_MS + 1 }] })).toEqual([])
    expect(kinds({ present: waiting, paused: ['mail'] })).toEqual([])
  })
})

test('each alert can be switched off', () => {
  const off = { backlog: null, errorRate: null, stalledAfterMs: null }
  const present = [{ queued: 9_999, waitingSince: 0 }]
  expect(kinds({ present, minutes: [{ failed: 99 }] }, off)).toEqual([])
})

describe('rows of a discovery', () => {
  const waiting = { name: 'tag-files', paused: false, waiting: 3, claimed: 1, waitingSince: NOW }
  const none = { ...waiting, waiting: 0, claimed: 0, waitingSince: null }
  const workers = [{ ...worker, discoveries: ['tag-files'] }]

  test('that no live worker serves are an alert', () => {
    expect(alerts({ discoveries: [waiting] })).toEqual([
      {
        kind: 'unserved',
        queue: null,
        discovery: 'tag-files',
        message: 'rows of tag-files wait, and no live worker serves this discovery',
        fix: 'Start a worker for the discovery tag-files.',
      },
    ])
    expect(kinds({ discoveries: [waiting], workers })).toEqual([])
    expect(kinds({ discoveries: [{ ...waiting, paused: true }] })).toEqual([])
    expect(kinds({ discoveries: [none] })).toEqual([])
  })

  test('that fail too often are an alert of their own, and of no queue', () => {
    const minutes = [{ queue: ROWS, name: 'tag-files', completed: 50, retried: 50 }]
    const discoveries = [none]
    expect(alerts({ minutes, discoveries })).toMatchObject([
      {
        kind: 'error-rate',
        discovery: 'tag-files',
        message: '50 % of 100 attempts in tag-files failed, most of tag-files',
      },
    ])
  })

  test('of which none was completed for a minute, while all looks found some waiting, are an alert', () => {
    const long = { ...waiting, waitingSince: NOW - MINUTE_MS }
    expect(alerts({ discoveries: [long], workers })).toMatchObject([
      {
        kind: 'stalled',
        queue: null,
        discovery: 'tag-files',
        message: 'nothing completed in tag-files for 60 s while 3 wait; 1 running',
      },
    ])
    const of = { queue: ROWS, name: 'tag-files' }
    expect(kinds({ discoveries: [long], workers, minutes: [{ ...of, retried: 1 }] })).toEqual(['stalled'])
    expect(kinds({ discoveries: [long], workers, minutes: [{ ...of, completed: 1 }] })).toEqual([])
    const others = { ...of, name: 'others', completed: 1 }
    expect(kinds({ discoveries: [long], workers, minutes: [others] })).toEqual(['stalled'])
    expect(kinds({ discoveries: [{ ...long, paused: true }], workers })).toEqual([])
    expect(kinds({ discoveries: [{ ...waiting, waitingSince: NOW - MINUTE_MS + 1 }], workers })).toEqual([])
    expect(kinds({ discoveries: [long], workers }, { ...LIMITS, stalledAfterMs: null })).toEqual([])
  })

  test('that are more than the limit are an alert, also where they are paused', () => {
    expect(kinds({ discoveries: [{ ...waiting, waiting: 100 }], workers })).toEqual([])
    expect(alerts({ discoveries: [{ ...waiting, waiting: 101, paused: true }], workers })).toMatchObject([
      { kind: 'backlog', discovery: 'tag-files', message: '101 wait in tag-files, more than 100' },
    ])
  })
})
