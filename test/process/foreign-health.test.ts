import { expect, test } from 'vitest'
import type { Phase } from '../../src/model/worker.ts'
import { ForeignHealth } from '../../src/process/foreign-health.ts'
import { decodeFrame, type Frame } from '../../src/process/frame.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

function watched() {
  const clock = new ManualClock()
  const told: (Phase | null | 'hung')[] = []
  const reasons: (string | undefined)[] = []
  const health = new ForeignHealth({
    clock,
    frameEveryMs: 5_000,
    onHindrance: (hindrance) => {
      told.push(hindrance?.phase ?? null)
      reasons.push(hindrance?.reason)
    },
    onHung: () => told.push('hung'),
  })
  const says = (said: object) =>
    health.heard(decodeFrame(`HEALTH|${JSON.stringify({ component_id: 'w', ...said })}`) as Frame)
  return { clock, told, reasons, health, says }
}

test('a program that never writes a frame is not missed', () => {
  const { clock, told } = watched()
  clock.advance(3_600_000)
  expect(told).toEqual([])
})

test('what keeps it from working is told, and when that is over', () => {
  const { told, says } = watched()
  for (const said of [
    { phase: 'loading_models' },
    { status: 'healthy' },
    { status: 'unhealthy' },
    { status: 'healthy', phase: 'processing' },
    { status: 'pending' },
    { phase: 'idle' },
  ])
    says(said)
  expect(told).toEqual(['loading_models', null, 'backing_off', null, 'loading_models', null])
})

test('a program gives a reason of its own for backing off, and a new reason is told', () => {
  const { clock, reasons, says } = watched()
  for (const reason of ['no VRAM', 'no VRAM', 'the camera is off', undefined])
    says({ phase: 'backing_off', reason })
  clock.advance(10_000)
  expect(reasons).toEqual([
    'no VRAM',
    'the camera is off',
    'its program reports backing_off',
    'its program writes no frames any more',
  ])
})

test('after its first frame it is expected to go on: silent for 10 s it is unhealthy, for 30 s it is hung', () => {
  const { clock, told, says } = watched()
  for (let i = 0; i < 10; i++) {
    says({ status: 'healthy' })
    clock.advance(9_999)
  }
  expect(told).toEqual([])
  clock.advance(1)
  expect(told).toEqual(['backing_off'])
  says({ status: 'healthy' })
  clock.advance(29_999)
  expect(told).toEqual(['backing_off', null, 'backing_off'])
  clock.advance(1)
  expect(told.at(-1)).toBe('hung')
})

test('the one that takes its place may be silent again', () => {
  const { clock, told, health, says } = watched()
  says({ status: 'unhealthy' })
  health.forget()
  clock.advance(3_600_000)
  expect(told).toEqual(['backing_off', null])
})
