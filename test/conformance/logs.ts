import type { LogLevel, LogLine, Page } from '../../src/model/task.ts'
import type { Theme } from './theme.ts'

export const logs: Theme = (specify, expect) => {
  specify('log lines are kept in order with their time, attempt, level and details', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const { fence } = await worker.claimOne()
    const levels: LogLevel[] = ['debug', 'info', 'warn', 'error']
    const lines = levels.map((level, i) => ({
      at: world.clock.now() + i,
      attempt: 1,
      level,
      message: `line ${i}`,
      details: i % 2 ? null : JSON.stringify({ i }),
    }))
    await worker.exchange({ logs: [{ id, fence, lines: lines.slice(0, 2) }] })
    await worker.exchange({ logs: [{ id, fence, lines: lines.slice(2) }] })
    expect(await world.store.tasks.taskLogs(id, { limit: 10, cursor: null })).toEqual({
      items: lines.map((line, i) => ({ ...line, details: i % 2 ? null : { i } })),
      next: null,
    })
  })

  specify(
    'a page of a log ends before it has more than 1 MiB, and the next one goes on there',
    async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const { fence } = await worker.claimOne()
      const details = JSON.stringify('x'.repeat(300_000))
      const lines = Array.from({ length: 7 }, (_, n) => {
        return { at: 1, attempt: 1, level: 'info', message: String(n), details } as const
      })
      await worker.exchange({ logs: [{ id, fence, lines }] })
      const read = async (follow: boolean) => {
        const pages: string[][] = []
        let cursor: string | null = null
        do {
          const page: Page<LogLine> = await world.store.tasks.taskLogs(id, { limit: 100, cursor, follow })
          pages.push(page.items.map(({ message }) => message))
          cursor = page.next
        } while (cursor !== null && pages.at(-1)!.length > 0)
        return pages
      }
      expect(await read(false)).toEqual([['0', '1', '2'], ['3', '4', '5'], ['6']])
      expect(await read(true)).toEqual([['0', '1', '2'], ['3', '4', '5'], ['6'], []])
    },
  )

  specify('who follows is told where to go on, also where there is nothing more yet', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const { fence } = await worker.claimOne()
    const read = async (cursor: string | null) => {
      const { items, next } = await world.store.tasks.taskLogs(id, { limit: 2, cursor, follow: true })
      return { said: items.map(({ message }) => message), next }
    }
    const log = (...messages: string[]) => {
      const line = { at: world.clock.now(), attempt: 1, level: 'info', details: null } as const
      const lines = messages.map((message) => ({ ...line, message }))
      return worker.exchange({ logs: [{ id, fence, lines }] })
    }
    const nothing = await read(null)
    expect(nothing.said).toEqual([])
    await log('one', 'two', 'three')
    const first = await read(nothing.next)
    expect(first.said).toEqual(['one', 'two'])
    const second = await read(first.next)
    expect(second.said).toEqual(['three'])
    const third = await read(second.next)
    expect(third.said).toEqual([])
    await log('four')
    expect((await read(third.next)).said).toEqual(['four'])
  })

  specify(
    'a NUL in a log line, or in the words of a progress, keeps nothing from being handed in',
    async (world) => {
      const id = await world.enqueue()
      const worker = await world.worker()
      const { fence } = await worker.claimOne()
      const at = world.clock.now()
      const line = { at, attempt: 1, level: 'info', message: 'a\0b', details: null } as const
      await worker.exchange({
        logs: [{ id, fence, lines: [line] }],
        progress: [{ id, fence, fraction: 0.5, message: 'a\0b' }],
      })
      const { items } = await world.store.tasks.taskLogs(id, { limit: 10, cursor: null })
      // Not every database has a place for it.
      const likely = ['a\0b', 'a\ufffdb']
      expect(likely).toContain(items[0]?.message)
      expect(likely).toContain((await world.task(id)).progress?.message)
    },
  )

  specify('the last words of an attempt come with its outcome and are kept', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const { fence } = await worker.claimOne()
    const at = world.clock.now()
    const line = { at, attempt: 1, level: 'info', message: 'bye', details: null } as const
    await worker.exchange({
      logs: [{ id, fence, lines: [line] }],
      outcomes: [{ id, fence, startedAt: at, outcome: { kind: 'completed', result: null } }],
    })
    const { items } = await world.store.tasks.taskLogs(id, { limit: 10, cursor: null })
    expect(items).toMatchObject([{ message: 'bye' }])
  })

  specify('log lines are read page by page, each once', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    await worker.log(await worker.claimOne(), ...Array.from({ length: 25 }, (_, i) => `line ${i}`))
    const messages: string[] = []
    let cursor: string | null = null
    do {
      const page = await world.store.tasks.taskLogs(id, { limit: 4, cursor })
      messages.push(...page.items.map(({ message }) => message))
      cursor = page.next
    } while (cursor !== null && messages.length < 100)
    expect(messages).toEqual(Array.from({ length: 25 }, (_, i) => `line ${i}`))
  })

  specify('logs are bounded: of too many lines the newest are kept', async (world) => {
    const id = await world.enqueue()
    const worker = await world.worker()
    const claim = await worker.claimOne()
    for (let batch = 0; batch < 30; batch++) {
      await worker.log(claim, ...Array.from({ length: 100 }, (_, i) => `line ${batch * 100 + i}`))
    }
    const { items } = await world.store.tasks.taskLogs(id, { limit: 5_000, cursor: null })
    expect(items.length).toBeLessThanOrEqual(2_000)
    expect(items.length).toBeGreaterThan(99)
    expect(items.at(-1)?.message).toBe('line 2999')
    expect(items[0]?.message).toBe(`line ${3_000 - items.length}`)
  })

  specify('the logs of one task are not those of another, nor of one that never was', async (world) => {
    const [first, second] = await world.enqueueMany(2)
    const worker = await world.worker()
    const claims = await worker.claim(2)
    await worker.log(claims[0]!, 'mine')
    expect((await world.store.tasks.taskLogs(first!, { limit: 5, cursor: null })).items).toHaveLength(1)
    expect((await world.store.tasks.taskLogs(second!, { limit: 5, cursor: null })).items).toEqual([])
    expect((await world.store.tasks.taskLogs('nonsense', { limit: 5, cursor: null })).items).toEqual([])
  })
}
