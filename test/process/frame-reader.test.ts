import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeFrame, type Frame } from '../../src/process/frame.ts'
import { FrameReader } from '../../src/process/frame-reader.ts'

const frame: Omit<Frame, 'kind'> = {
  componentId: 'worker:main:0',
  status: 'healthy',
  phase: 'idle',
  paused: false,
  reason: null,
  currentJob: null,
  incarnation: 1,
  seq: 1,
  current: [],
  rss: 1,
  loopLagMs: 0,
  processed: 0,
  errors: 0,
  metrics: {},
  program: null,
}
const line = (seq: number) => encodeFrame({ ...frame, seq })

function reading(nowMs = () => 0) {
  const seqs: (number | null)[] = []
  const reader = new FrameReader(({ seq }) => seqs.push(seq), nowMs)
  return { reader, seqs }
}

test('frames are found however the pipe cuts them, and in whatever stands between them', () => {
  const noise = fc.constantFrom('garbage\n', 'HEALTH|{"cut":\n', '\n', 'HEALTH|null\n', '🦊 multi-byte\n')
  const parts = fc.array(fc.oneof(noise, fc.nat(1_000)), { maxLength: 40 })
  fc.assert(
    fc.property(parts, fc.array(fc.integer({ min: 1, max: 97 }), { minLength: 1 }), (said, cuts) => {
      const { reader, seqs } = reading()
      const bytes = Buffer.from(said.map((part) => (typeof part === 'number' ? line(part) : part)).join(''))
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const length = cuts[n % cuts.length]!
        reader.add(bytes.subarray(at, at + length))
        at += length
      }
      expect(seqs).toEqual(said.filter((part) => typeof part === 'number'))
      expect(reader.noise).toBe(said.length - seqs.length)
    }),
  )
})

test('a line of a megabyte is thrown away, and the next frame is heard', () => {
  const { reader, seqs } = reading()
  reader.add(Buffer.from(`HEALTH|${'x'.repeat(1_000_000)}\n${line(1)}`))
  expect(seqs).toEqual([1])
  expect(reader.noise).toBe(1)
})

test('a line that never ends costs no memory', () => {
  const { reader, seqs } = reading()
  const chunk = Buffer.alloc(64 * 1024, 'x')
  global.gc?.()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 2_000; n++) reader.add(chunk)
  global.gc?.()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(30e6)
  reader.add(Buffer.from(`\n${line(7)}`))
  expect(seqs).toEqual([7])
})

test('of a hundred thousand frames in a second most are not even looked at, and the next second is a new one', () => {
  let nowMs = 0
  const { reader, seqs } = reading(() => nowMs)
  const flood = Buffer.from(line(1).repeat(1_000))
  for (let n = 0; n < 100; n++) reader.add(flood)
  expect(seqs).toHaveLength(1_000)
  expect(reader.noise).toBe(99_000)
  nowMs = 1_000
  reader.add(Buffer.from(line(2)))
  expect(seqs.at(-1)).toBe(2)
})
