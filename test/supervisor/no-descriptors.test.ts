import { execFileSync } from 'node:child_process'
import { expect } from 'vitest'
import { pool, test } from './estate.ts'
import { quick } from './tasks.ts'

/** All that are open stay open, and no other can be opened. */
const NONE = 3

test.skipIf(process.platform !== 'linux')(
  'a worker that cannot be started for want of descriptors is tried again with backoff; the others go on',
  async ({ estate }) => {
    const supervisor = estate.supervisor({
      pools: [pool(), pool({ name: 'other' })],
      limits: { inWindow: 1_000, total: 1_000 },
    })
    const running = (id: string) => (said: Record<string, any>) => said.id === id && said.status === 'running'
    const first = await supervisor.hears('worker', running('worker:main:0'))
    const other = await supervisor.hears('worker', running('worker:other:0'))
    const gleaner = await estate.gleaner()
    const limit = (soft: number) =>
      execFileSync('prlimit', ['--pid', String(supervisor.pid), `--nofile=${soft}:`])
    limit(NONE)
    process.kill(first.pid, 'SIGKILL')
    const failed = (log: Record<string, any>) => /could not be started: .*EMFILE.*ulimit -n/.test(log.message)
    await supervisor.hears('log', failed)
    await supervisor.next('log', failed)
    expect(supervisor.said.filter(({ message }) => message === 'worker will be restarted')).not.toEqual([])
    // The one that runs does what there is to do, with its supervisor alive.
    await (await gleaner.enqueue(quick, 1)).result({ timeout: '20s' })
    process.kill(other.pid, 0)
    limit(1_024)
    const again = await supervisor.next('worker', running('worker:main:0'))
    expect(again.pid).not.toBe(first.pid)
    expect(supervisor.alive).toBe(true)
    supervisor.tell('stop', { drain: 0 })
    await supervisor.hears('stopped')
  },
)
