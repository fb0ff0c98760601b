import type { Page } from '../../model/task.ts'
import { type Option, text, type Values } from './command.ts'
import { aCount, countOf } from './values.ts'

/** What a server gives at once. */
export const PAGE_MAX = 200
const LIMIT_MAX = 10_000
/** A page looks at a bounded number of entries and may be empty: so many of them, and the rest is left to another call. */
const PAGES_MAX = 500

export const PAGE_OPTIONS = {
  limit: {
    type: 'string',
    short: 'n',
    value: 'count',
    check: aCount(LIMIT_MAX),
    about: `At most this many, up to ${LIMIT_MAX}; default 50.`,
  },
  cursor: { type: 'string', value: 'next', about: 'Continue after an earlier list: pass its `next`.' },
} satisfies Record<string, Option>

/** As many as were asked for, whatever the size of a page. */
export async function gathered<T>(
  values: Values,
  read: (page: { limit: number; cursor: string | null }) => Promise<Page<T>>,
  limitDefault = 50,
): Promise<Page<T>> {
  const limit = countOf('limit', values) ?? limitDefault
  const items: T[] = []
  let cursor = text(values.cursor) ?? null
  for (let page = 0; page < PAGES_MAX; page++) {
    const { items: more, next } = await read({ limit: Math.min(PAGE_MAX, limit - items.length), cursor })
    items.push(...more)
    cursor = next
    if (cursor === null || items.length >= limit) break
  }
  return { items, next: cursor }
}
