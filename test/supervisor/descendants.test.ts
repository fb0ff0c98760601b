import { existsSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { gone, test } from './estate.ts'
import { escaping } from './tasks.ts'

describe.skipIf(process.platform !== 'linux')(
  'a process that left the group of its worker (setsid, two forks)',
  () => {
    test('is killed when the worker dies, before its item is given back, and the log says so', async ({
      estate,
    }) => {
      await estate.supervise()
      const gleaner = await estate.gleaner()
      const { id } = await gleaner.enqueue(escaping, { waits: true })
      const { child, pid } = await estate.hears('escaped')
      process.kill(pid, 'SIGKILL')
      const logged = await estate.logged('killed the processes that it had started')
      expect(logged).toMatchObject({
        level: 'warn',
        killed: [child],
        message: expect.stringContaining('(sleep)'),
      })
      await gone(child)
      const again = await estate.hears('escaped', (said) => said.child !== child)
      expect(await gleaner.tasks.get(id)).toMatchObject({ crashes: 1 })
      process.kill(again.child, 'SIGKILL')
    })

    test('goes on when the worker ends in order, as a service that was started on purpose; the log names it', async ({
      estate,
    }) => {
      const supervisor = await estate.supervise()
      const gleaner = await estate.gleaner()
      await (await gleaner.enqueue(escaping, { waits: false })).result({ timeout: '20s' })
      const [said] = estate.said('escaped')
      await supervisor.stop()
      const logged = await estate.logged('processes that it had started still run')
      expect(logged).toMatchObject({ left: [said!.child] })
      expect(existsSync(`/proc/${said!.child}`)).toBe(true)
      process.kill(said!.child, 'SIGKILL')
    })
  },
)
