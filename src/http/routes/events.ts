import { z } from 'zod'
import { WATCHED_MAX } from '../events/hub.ts'
import type { Subscription } from '../events/subscription.ts'
import { ids, topics } from '../protocol/fields.ts'
import { Problem } from '../protocol/problem.ts'
import { type Route, route } from './route.ts'

/** A client that has taken nothing for that long is gone, whatever its connection says. */
const DEAD_AFTER_MS = 60_000

export const eventRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/events',
    role: 'viewer',
    summary:
      'Changes as they happen (server-sent events). Continues after the event that the header Last-Event-ID names',
    query: z.strictObject({
      topics: topics.optional().describe('The topics, separated by commas. Default: all'),
      tasks: ids(WATCHED_MAX).optional().describe('Ids of tasks to watch, separated by commas'),
    }),
    answer: null,
    handle({ hub }, { query, request, socket }) {
      const unknown = query.topics?.find((topic) => !hub.topics.includes(topic))
      if (unknown !== undefined)
        throw new Problem(
          'BAD_REQUEST',
          'topics: there is no such topic',
          `There are: ${hub.topics.join(', ')}.`,
        )
      const wanted = { topics: query.topics ?? hub.topics, tasks: query.tasks ?? [] }
      hub.checkRoom(wanted)
      const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
      if (request.method === 'HEAD') return new Response(null, { headers })
      socket?.setTimeout(DEAD_AFTER_MS, () => socket.destroy())
      const encoder = new TextEncoder()
      // Begins with the first read: of a request that was given up before, nothing stays.
      let client: Subscription | undefined
      const stream = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            client ??= hub.subscribe(wanted, request.headers.get('last-event-id'))
            const text = await client.next()
            if (text === null) controller.close()
            else controller.enqueue(encoder.encode(text))
          },
          cancel: () => client && hub.unsubscribe(client),
        },
        // Nothing is made before there is room for it.
        { highWaterMark: 0 },
      )
      return new Response(stream, { headers })
    },
  }),
]
