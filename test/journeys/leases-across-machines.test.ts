import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { TimingOptions } from '../../src/index.ts'
import { canUnshare, onAnotherBoot } from '../namespaces.ts'
import { type Place, test } from '../store/postgres/place.ts'
import { Child } from './child.ts'
import { patient, quick, tasks } from './tasks.ts'

const WORKER = join(import.meta.dirname, 'programs/worker.ts')
/** Long enough that a keeper which waits for a busy processor is not late for all of it. */
const LEASE_MS = 3_000
const HOUR_MS = 3_600_000

function start(place: Place, timings: TimingOptions, command: string[] = []): Child {
  const { url: database, schema } = place
  const child = new Child(WORKER, { database, postgres: { schema, poolSize: 2 }, timings }, {}, command)
  place.atEnd(() => child.kill())
  return child
}

test.skipIf(!canUnshare())(
  'a machine that shares the hostname of another one does not take its workers for dead, and finds its own dead at once',
  async ({ place }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-boot-'))
    place.atEnd(async () => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'boot_id'), '11111111-2222-3333-4444-555555555555\n')
    const cloned = onAnotherBoot(join(folder, 'boot_id'))
    const timings = { sweep: '50ms' } as const
    const gleaner = await place.open({ tasks })
    const ours = await gleaner.enqueue(patient)
    const here = start(place, timings)
    await here.hears('running')
    const theirs = await gleaner.enqueue(patient)
    const there = start(place, timings, cloned)
    await there.hears('running')
    const besideIt = start(place, timings, cloned)
    await besideIt.hears('ready')
    await there.kill()
    // Its sweeper came by, and looked at all of them.
    await besideIt.hears('running', ({ id }) => id === theirs.id)
    here.tell('release')
    besideIt.tell('release')
    expect(await ours.result()).toBe(here.pid)
    expect(await theirs.result()).toBe(besideIt.pid)
    expect(await gleaner.tasks.get(ours.id)).toMatchObject({ attempts: 1, crashes: 0 })
    expect((await gleaner.tasks.attempts(theirs.id))[0]).toMatchObject({ outcome: 'crash' })
  },
)

/** The server's clock, which is this schema's own: what `setClock` says, beside the real one. */
async function ownClock(place: Place): Promise<(offsetMs: number) => Promise<unknown>> {
  await place.rows('CREATE TABLE gleaner.test_clock AS SELECT 0::bigint AS off')
  await place.rows(`CREATE OR REPLACE FUNCTION gleaner.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
    $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + off FROM gleaner.test_clock $$`)
  return (offsetMs) => place.rows('UPDATE gleaner.test_clock SET off = $1', [offsetMs])
}

test('a clock of the server that is set ahead and back ends no session, and keeps none whose worker is gone', async ({
  place,
}) => {
  const timings = { sweep: '50ms', lease: LEASE_MS } as const
  const gleaner = await place.open({ tasks })
  const setClock = await ownClock(place)
  const handle = await gleaner.enqueue(patient)
  const first = start(place, timings)
  await first.hears('running')
  const second = start(place, timings)
  await second.hears('ready')
  const renewals = async () => {
    const rows = await place.rows('SELECT renewals::int AS n FROM gleaner.sessions ORDER BY id')
    return rows.map(({ n }) => n as number)
  }
  // Between any two of them, both have been seen by sweeps, and one of them is the first to renew.
  for (const hours of [1, 24 * 365, -24, 2]) {
    const before = await renewals()
    await setClock(hours * HOUR_MS)
    await (await gleaner.enqueue(quick, hours)).result()
    await place.until('one of them was renewed', async () =>
      (await renewals()).some((n, i) => n > (before[i] ?? -1)),
    )
  }
  expect(await place.rows('SELECT 1 FROM gleaner.sessions WHERE ended_at IS NOT NULL')).toEqual([])
  await setClock(0)
  first.signal('SIGSTOP')
  // Neither of them can prove it dead; the clock that went back does not keep it alive.
  const again = await second.hears('running', ({ id }) => id === handle.id)
  expect(again.attempt).toBe(2)
  second.tell('release')
  expect(await handle.result()).toBe(second.pid)
  expect((await gleaner.tasks.attempts(handle.id))[0]).toMatchObject({ outcome: 'lease' })
})
