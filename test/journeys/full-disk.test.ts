import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { until } from '../until.ts'
import type { Child } from './child.ts'
import { test as inPlace } from './place.ts'
import { patient, tasks } from './tasks.ts'

const LEASE_MS = 1_500
/** A renewal is due three times in a lease. */
const LEASES_LONG = 2
const FAILED_RENEWALS = 3 * LEASES_LONG
const BYTES = 4 * 1024 * 1024
const PAGE = 4096

/** Filled and freed by the test. */
class SmallDisk {
  readonly folder: string
  readonly mounted: boolean
  readonly #ballast: string

  constructor(folder: string) {
    this.folder = folder
    this.#ballast = join(folder, 'ballast')
    mkdirSync(folder)
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${BYTES}`, 'tmpfs', folder])
    this.mounted = status === 0
  }

  fill(): void {
    try {
      for (let i = 0; i < BYTES; i += PAGE) writeFileSync(this.#ballast, Buffer.alloc(PAGE), { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }

  free(): void {
    rmSync(this.#ballast)
  }

  /** At once, also while a program has a file of it open. */
  unmount(): void {
    if (this.mounted) spawnSync('umount', ['--lazy', this.folder])
  }
}

const test = inPlace.extend<{ disk: SmallDisk }>({
  disk: async ({ place }, use) => {
    const disk = new SmallDisk(join(place.folder, 'disk'))
    await use(disk)
    disk.unmount()
  },
})

const failedRenewals = (child: Child) =>
  child.all('problem').filter(({ message }) => message === 'the keeper could not renew the sessions').length

test('a disk that is full for several leases ends no session, and what is finished meanwhile counts', async ({
  place,
  disk,
  skip,
}) => {
  if (!disk.mounted) skip('only root may mount a small disk')
  const file = join(disk.folder, 'app.db')
  const database = `sqlite:${file}`
  const timings = { sweep: '50ms', lease: LEASE_MS } as const
  const gleaner = await place.open({ database, tasks })
  const handles = [await gleaner.enqueue(patient), await gleaner.enqueue(patient)]
  const workers: Child[] = []
  for (const _ of handles) {
    const worker = place.start('worker.ts', { database, timings })
    await worker.hears('running')
    workers.push(worker)
  }
  disk.fill()
  await until('no renewal was possible for several leases', () =>
    workers.every((worker) => failedRenewals(worker) >= FAILED_RENEWALS),
  )
  const [first, second] = workers
  first!.tell('release')
  disk.free()
  // The sweepers come by sooner than the renewals.
  const sessions = place.connect(file).prepare('SELECT renewals, ended_at FROM gleaner_sessions ORDER BY id')
  const before = sessions.all() as { renewals: number }[]
  await until('both were renewed', () =>
    (sessions.all() as { renewals: number; ended_at: number | null }[]).every(
      ({ renewals, ended_at }, i) => ended_at !== null || renewals > (before[i]?.renewals ?? -1),
    ),
  )
  // None was ended, so that none had to be opened anew.
  expect(sessions.all()).toHaveLength(2)
  second!.tell('release')
  for (const [i, handle] of handles.entries()) {
    expect(await handle.result()).toBe(workers[i]!.pid)
    expect(await gleaner.tasks.get(handle.id)).toMatchObject({ attempts: 1, crashes: 0 })
  }
})
