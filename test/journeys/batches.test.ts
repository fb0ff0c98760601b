import { expect } from 'vitest'
import { type Place, test } from './place.ts'
import { bulk } from './tasks.ts'

/** Short sweeps; a lease so long that only the proof of death can be what repaired something. */
const timings = { sweep: '50ms', lease: '1h' } as const

/** As an init system would: the next worker starts when one has died. Answers all calls that any of them made. */
function workers(place: Place) {
  const calls: number[][] = []
  let stopping = false
  let child = place.start('worker.ts', { timings })
  const attend = () => {
    const one = child
    void one.ended.then(() => {
      calls.push(...one.said.filter(({ event }) => event === 'call').map(({ inputs }) => inputs))
      if (stopping) return
      child = place.start('worker.ts', { timings })
      attend()
    })
  }
  attend()
  return {
    get current() {
      return child
    },
    async stop(): Promise<number[][]> {
      stopping = true
      await child.kill()
      return calls
    },
  }
}

test('a batch whose process is killed in the middle runs again, and nothing of it is lost', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks: [bulk] })
  const inputs = Array.from({ length: 30 }, (_, n) => n)
  const handles = await gleaner.enqueueMany(bulk, inputs)
  const pool = workers(place)
  // The call waits for a word that never comes.
  const { inputs: first } = await pool.current.hears('call')
  expect(first).toEqual(inputs)
  await pool.current.kill()
  await pool.current.hears('call')
  const released = setInterval(() => pool.current.tell('release'), 20)
  try {
    const results = await Promise.all(handles.map((handle) => handle.result({ timeout: '40s' })))
    expect(results).toEqual(inputs)
  } finally {
    clearInterval(released)
  }
  await pool.stop()
  const attempts = await gleaner.tasks.attempts(handles[0]!.id)
  expect(attempts.map(({ outcome }) => outcome)).toEqual(['crash', 'completed'])
})

test('an item that kills its process is quarantined alone, and the others of its batch are done', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks: [bulk] })
  // A negative number kills the process.
  const inputs = [0, 1, 2, -3, 4, 5, 6, 7]
  const handles = await gleaner.enqueueMany(bulk, inputs)
  const pool = workers(place)
  const released = setInterval(() => pool.current.tell('release'), 20)
  try {
    const ends = await Promise.allSettled(handles.map((handle) => handle.result({ timeout: '40s' })))
    expect(ends.map((end) => (end.status === 'fulfilled' ? end.value : end.reason.kind))).toEqual([
      0,
      1,
      2,
      'crash',
      4,
      5,
      6,
      7,
    ])
  } finally {
    clearInterval(released)
  }
  const calls = await pool.stop()
  expect(await gleaner.tasks.get(handles[3]!.id)).toMatchObject({
    status: 'failed',
    error: { kind: 'crash' },
  })
  // Once with the others, then alone until it is quarantined.
  expect(calls.filter((call) => call.includes(-3)).map(({ length }) => length)).toEqual([8, 1, 1, 1])
  const good = await Promise.all([0, 7].map((n) => gleaner.tasks.attempts(handles[n]!.id)))
  for (const attempts of good) expect(attempts.at(-1)!.outcome).toBe('completed')
})
