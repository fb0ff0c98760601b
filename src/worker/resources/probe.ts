import { shown } from '../../define/names.ts'
import { durationMs } from '../../duration.ts'
import { ResourceError } from '../../errors.ts'

export type Availability = { available: true } | { available: false; reason: string; retryAfterMs: number }

/** What a probe's answer means. Whatever it is, it is one of the two: what is unclear is unavailable. */
export function availabilityOf(name: string, answer: unknown, retryAfterMs: number): Availability {
  if (answer === true) return { available: true }
  if (answer === false) return { available: false, reason: 'its probe returned false', retryAfterMs }
  const { reason, retryAfter } = (answer ?? {}) as { reason?: unknown; retryAfter?: unknown }
  if (typeof reason !== 'string') {
    throw new ResourceError(`the probe of resource ${name} returned ${shown(answer)}`, undefined, {
      code: 'RESOURCE_PROBE',
      hint: "Return true, false or { reason: 'no VRAM', retryAfter: '30s' }.",
    })
  }
  const afterMs =
    retryAfter === undefined ? retryAfterMs : durationMs(retryAfter, `probe of ${name}: retryAfter`)
  return { available: false, reason, retryAfterMs: afterMs }
}
