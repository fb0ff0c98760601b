import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeFrame, encodeFrame, type Frame } from '../../src/process/frame.ts'

const frame: Frame = {
  kind: 'frame',
  componentId: 'worker:ml:0',
  status: 'healthy',
  phase: 'processing',
  paused: true,
  reason: 'waits for gpu: no VRAM',
  currentJob: 'ml.embed/7',
  incarnation: 3,
  seq: 12,
  current: [{ item: 'ml.embed/7', fence: 90, since: 1_000, deadline: 2_000 }],
  rss: 1_000_000,
  loopLagMs: 12,
  processed: 4,
  errors: 0,
  metrics: { gpu: 0.5 },
  program: { status: 'healthy', phase: 'processing', currentJob: 'scan 7', metrics: { vram: 0.25 } },
}

test('what is encoded is decoded', () => {
  const line = encodeFrame(frame)
  expect(line.endsWith('\n')).toBe(true)
  expect(decodeFrame(line.slice(0, -1))).toEqual(frame)
})

test('a frame of another language needs an id and a status, or a phase that tells it', () => {
  expect(decodeFrame('HEALTH|{"component_id":"worker:py:0","status":"healthy"}')).toMatchObject({
    kind: 'frame',
    status: 'healthy',
    phase: null,
  })
  expect(decodeFrame('HEALTH|{"component_id":"worker:py:0","phase":"loading_models"}')).toMatchObject({
    kind: 'frame',
    status: 'pending',
    phase: 'loading_models',
  })
})

test.each([
  ['', 'not a frame'],
  ['starting up…', 'not a frame'],
  ['HEALTH|', 'not JSON'],
  ['HEALTH|{"component_id":"w"', 'not JSON'],
  ['HEALTH|7', 'not JSON'],
  ['HEALTH|{"status":"healthy"}', 'no component_id'],
  ['HEALTH|{"component_id":"w","status":"splendid"}', 'no status'],
])('%j is noise: %s', (line, why) => {
  expect(decodeFrame(line)).toEqual({ kind: 'noise', why })
})

test('whatever a field holds, it is understood or left out, and bounded', () => {
  fc.assert(
    fc.property(fc.record({ current: fc.anything(), metrics: fc.anything(), rss: fc.anything() }), (rest) => {
      const json = JSON.stringify({ component_id: 'w', status: 'healthy', ...rest }, (_key, value) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      const decoded = decodeFrame(`HEALTH|${json}`)
      if (decoded.kind === 'noise') return expect(decoded.why).toBe('not JSON')
      expect(decoded.current.length).toBeLessThanOrEqual(100)
      expect(decoded.rss === null || Number.isFinite(decoded.rss)).toBe(true)
    }),
  )
})

test('no line at all makes the decoder throw', () => {
  fc.assert(fc.property(fc.string(), (line) => void decodeFrame(`HEALTH|${line}`)))
  fc.assert(fc.property(fc.json(), (line) => void decodeFrame(`HEALTH|${line}`)))
})
