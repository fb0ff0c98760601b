import type { NewAction } from '../../src/model/action.ts'
import type { Theme } from './theme.ts'

const pausing: NewAction = {
  action: 'queues.pause',
  target: 'mail',
  role: 'operator',
  user: null,
  address: '127.0.0.1',
  details: null,
}

export const actions: Theme = (specify, expect) => {
  specify('what an operator asked for is listed, the last first, page by page', async ({ store }) => {
    for (const target of ['a', 'b', 'c']) await store.admin.noteAction({ ...pausing, target })
    const first = await store.admin.listActions({ limit: 2, cursor: null })
    expect(first.items.map(({ target }) => target)).toEqual(['c', 'b'])
    const second = await store.admin.listActions({ limit: 2, cursor: first.next })
    expect(second).toMatchObject({ items: [{ ...pausing, target: 'a' }], next: null })
    expect(second.items[0]!.at).toBeGreaterThan(0)
  })

  specify(
    'a page of actions ends before it has more than 1 MiB, and the next one goes on there',
    async ({ store }) => {
      const details = 'x'.repeat(400_000)
      for (const target of ['a', 'b', 'c']) await store.admin.noteAction({ ...pausing, target, details })
      const first = await store.admin.listActions({ limit: 10, cursor: null })
      const second = await store.admin.listActions({ limit: 10, cursor: first.next })
      const targets = [first, second].map(({ items }) => items.map(({ target }) => target))
      expect(targets).toEqual([['c', 'b'], ['a']])
      expect(second.next).toBe(null)
    },
  )

  specify('whatever is said of an action comes back as it was', async ({ store }) => {
    const details = {
      filter: { name: "'; DROP TABLE gleaner_tasks; --" },
      text: 'a\u0000b\ud800',
      n: [1, null],
    }
    await store.admin.noteAction({ ...pausing, user: 'Zoë "root"', address: null, details })
    const [noted] = (await store.admin.listActions({ limit: 1, cursor: null })).items
    expect(noted).toMatchObject({ user: 'Zoë "root"', address: null, details })
  })
}
