// The tasks of a small web shop. They only pretend to work; everything around them is real.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Context, defineTask, PermanentError } from '../../src/index.ts' // in your own project: from 'gleaner'

const numbered = z.object({ number: z.number().int() })

/** A delay that depends on the number, the same in each run. The signal ends it at once: on cancel, time-out and stop. */
async function pretend(ctx: Context, number: number, fromMs: number, toMs: number): Promise<void> {
  const ms = fromMs + ((number * 37) % 100) * ((toMs - fromMs) / 100)
  await sleep(ms, undefined, { signal: ctx.signal })
}

/** Quick, and many of them. */
export const mail = defineTask({
  name: 'mail.send',
  input: z.object({ number: z.number().int(), to: z.string() }),
  async run({ number, to }, ctx) {
    await pretend(ctx, number, 20, 110)
    return { sentTo: to }
  },
})

/** Slow, with progress, on a queue of its own so that mail need not wait behind it. */
export const resize = defineTask({
  name: 'image.resize',
  queue: 'media',
  input: numbered,
  async run({ number }, ctx) {
    const widths = [320, 640, 960, 1280, 1920, 2560, 3840]
    for (const [done, width] of widths.entries()) {
      await ctx.progress(done / widths.length, `${width} px`)
      await pretend(ctx, number, 90, 220)
      ctx.log.info(`${width} px wide`)
    }
    return { sizes: widths.length }
  },
})

/** Fails sometimes. Gleaner retries with a growing delay. Most tasks recover, some never do. */
export const webhook = defineTask({
  name: 'webhook.deliver',
  input: numbered,
  retry: { attempts: 4, backoff: 'exponential', base: '300ms', jitter: 0.1 },
  async run({ number }, ctx) {
    ctx.log.info(`POST https://shop-${number}.example/orders`, { order: number })
    await pretend(ctx, number, 20, 60)
    const failures = number % 10 === 9 ? 99 : number % 3
    if (ctx.attempt <= failures) throw new Error(`503 from shop-${number}.example`)
    return { delivered: true }
  },
})

/** Some failures are final: another attempt would not change the answer. */
export const charge = defineTask({
  name: 'card.charge',
  input: numbered,
  async run({ number }, ctx) {
    await pretend(ctx, number, 40, 90)
    if (number % 5 === 3) throw new PermanentError('the card was declined')
    return { charged: true }
  },
})

/** One of these servers never answers. `timeout` is for each attempt. */
export const feed = defineTask({
  name: 'feed.fetch',
  input: numbered,
  timeout: '500ms',
  retry: { attempts: 2, base: '400ms' },
  async run({ number }, ctx) {
    await pretend(ctx, number, number === 2 ? 60_000 : 100, number === 2 ? 60_000 : 200)
    return { items: number * 10 }
  },
})

/** Enqueued now, and run later. */
export const report = defineTask({
  name: 'report.build',
  input: numbered,
  async run({ number }, ctx) {
    await pretend(ctx, number, 30, 80)
    return { pages: number + 1 }
  },
})

/** Enqueued twice with one key, and run once. */
export const reindex = defineTask({
  name: 'search.reindex',
  input: z.object({ shop: z.string() }),
  async run({ shop }, ctx) {
    await pretend(ctx, 1, 200, 400)
    return { shop, documents: 1200 }
  },
})

/** Takes long, and is cancelled while it runs. */
export const film = defineTask({
  name: 'video.export',
  queue: 'media',
  input: numbered,
  async run(_input, ctx) {
    for (let frame = 0; frame < 200; frame++) {
      await ctx.progress(frame / 200, `frame ${frame}`)
      if (frame % 50 === 0) ctx.log.info('a new scene begins', { frame })
      await sleep(100, undefined, { signal: ctx.signal })
    }
    return { frames: 200 }
  },
})

/** An empty task, which measures the time from enqueue to result. */
export const ping = defineTask({ name: 'ping', run: async () => 'pong' })
