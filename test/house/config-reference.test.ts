import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkConfig } from '../../src/config/check.ts'
import { durationMs } from '../../src/duration.ts'
import { checkTimings } from '../../src/engine/settings.ts'
import { retentionOf } from '../../src/maintenance/retention.ts'
import { policyOf, timingsOf } from '../../src/supervisor/timings.ts'
import { publicEntries } from '../../tools/public-api/entries.ts'
import { fieldsOf, PLACES } from '../../tools/reference/config.ts'

const checkout = join(import.meta.dirname, '../..')
const doors = publicEntries(checkout)
const fieldsAt = (path: string) =>
  PLACES.filter((place) => place.path === path).flatMap(({ type }) => fieldsOf(doors, type))

const PLAIN = { database: 'sqlite::memory:' }
const check = (options: object) => checkConfig({ ...PLAIN, ...options }, '/srv/gleaner.config.ts', {})

/** The config with a misspelled option at this place, and all that must be said beside it. */
function misspelledAt(path: string): object {
  const beside: Record<string, object> = {
    'server.tokens[]': { name: 'ci', role: 'viewer', token: '0123456789abcdef' },
    'queues.<name>.rate': { count: 1, per: '1s' },
  }
  let value: object = { ...beside[path], qqqqqqqq: 1 }
  for (const step of path.split('.').filter(Boolean).reverse())
    value = step.endsWith('[]') ? { [step.slice(0, -2)]: [value] } : { [step.replace('<name>', 'x')]: value }
  return value
}

/** What the check lists when an option does not exist: `There are: a, b.` */
function listedFor(path: string): string[] {
  try {
    check(misspelledAt(path))
  } catch (error) {
    const { hint } = error as { hint?: string }
    return (
      /(?<list>\w+(?:, \w+)*)\.$/.exec(hint?.replace(/^.*\bare:? /, '') ?? '')?.groups?.list?.split(', ') ??
      []
    )
  }
  return []
}

describe('every option that a check knows is in the reference, and no other', () => {
  // A rate is checked as one value.
  const places = [...new Set(PLACES.map(({ path }) => path))].filter((path) => path !== 'queues.<name>.rate')

  test.each(places)('%s', (path) => {
    expect(listedFor(path).sort()).toEqual(
      fieldsAt(path)
        .map(({ name }) => name)
        .sort(),
    )
  })
})

/** `10 000`, `5 min`, `'7d'`: what a default means. */
function meaningOf(preset: string): unknown {
  const text = preset.replaceAll(/[`']/g, '')
  if (/^[\d ]+$/.test(text)) return Number(text.replaceAll(' ', ''))
  if (/^(?:true|false|0\.\d+)$/.test(text)) return JSON.parse(text)
  if (/^\d+ ?(?:ms|s|min|h|d)$/.test(text))
    return durationMs(text.replace(' ', '').replace('min', 'm') as '1s', 'default')
  return text
}

test('every default in the reference is what a config without the option means', () => {
  const { server, supervisor, alerts } = check({})
  const [pool] = check({ pools: { main: {} } }).pools
  const policy = policyOf({} as Parameters<typeof policyOf>[0])
  const keep = retentionOf({})
  const meant: Record<string, object> = {
    server: server!,
    'pools.<name>': pool!,
    alerts,
    timings: checkTimings({}),
    'supervisor.timings': {
      ...timingsOf(supervisor.timings),
      ...policy,
      backoffMs: policy.baseMs,
      backoffMaxMs: policy.maxMs,
    },
    'supervisor.limits': policy,
    retention: Object.fromEntries(Object.entries(keep).map(([status, { ageMs }]) => [status, ageMs])),
  }
  const compared = Object.entries(meant).flatMap(([path, values]) =>
    fieldsAt(path).flatMap(({ name, preset }) => {
      const value =
        (values as Record<string, unknown>)[name] ?? (values as Record<string, unknown>)[`${name}Ms`]
      const isPlain = ['number', 'string', 'boolean'].includes(typeof value)
      return isPlain
        ? [{ option: `${path}.${name}`, said: preset && meaningOf(preset.replace(/, or .*/, '')), value }]
        : []
    }),
  )
  expect(compared.length).toBeGreaterThan(30)
  expect(compared.filter(({ said, value }) => said !== value && value !== 'main')).toEqual([])
})
