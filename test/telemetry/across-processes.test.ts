import { join } from 'node:path'
import { context, propagation } from '@opentelemetry/api'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openGleaner } from '../../src/index.ts'
import { openTelemetry } from '../../src/telemetry/index.ts'
import { Child } from '../journeys/child.ts'
import { BOTH } from '../torture/ground/both.ts'
import { inSpan, type Seen, seen, startSdk } from './sdk.ts'
import { embed, follow } from './tasks.ts'

const WORKER = join(import.meta.dirname, 'programs/worker.ts')

beforeAll(startSdk)

describe.each(BOTH)('on %s', (_database, openGround) => {
  test('one trace leads from the request to each attempt in another process, and on', async () => {
    const ground = await openGround()
    onTestFinished(() => ground.clear())
    const { database } = ground
    const gleaner = await openGleaner({ database, tasks: [embed, follow], telemetry: openTelemetry() })
    onTestFinished(() => gleaner.close())
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
    const handle = await context.with(propagation.setBaggage(context.active(), baggage), () =>
      inSpan('POST /upload', () => gleaner.enqueue(embed, { path: 'a.flac' })),
    )
    const child = new Child(WORKER, { database })
    onTestFinished(() => void child.kill())
    const { spans } = (await child.hears('spans')) as unknown as { spans: Seen[] }

    const [enqueued, request] = seen()
    expect(request).toMatchObject({ name: 'POST /upload', parent: null })
    const { traceId } = request!
    expect(enqueued).toMatchObject({
      name: 'enqueue embed',
      kind: 'PRODUCER',
      traceId,
      parent: request!.spanId,
      isError: false,
      attributes: {
        'messaging.system': 'gleaner',
        'messaging.operation.type': 'send',
        'messaging.operation.name': 'enqueue',
        'messaging.destination.name': 'ml',
        'messaging.message.id': handle.id,
        'gleaner.task.name': 'embed',
      },
    })
    const named = (name: string) => spans.filter((span) => span.name === name)
    const [first, second] = named('run embed')
    expect(first).toMatchObject({
      kind: 'CONSUMER',
      traceId,
      parent: enqueued!.spanId,
      isError: true,
      exceptions: ['Error: cannot read a.flac'],
      attributes: {
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'ml',
        'messaging.message.id': handle.id,
        'gleaner.task.name': 'embed',
        'gleaner.attempt': 1,
        'gleaner.max_attempts': 2,
        'gleaner.outcome': 'retrying',
        'gleaner.retry_after_ms': expect.any(Number),
        'error.type': 'error',
      },
    })
    expect(second).toMatchObject({
      traceId,
      parent: enqueued!.spanId,
      isError: false,
      attributes: { 'gleaner.attempt': 2, 'gleaner.outcome': 'completed' },
    })
    expect(named('the app’s own')).toMatchObject([{ traceId, parent: second!.spanId }])
    const [next] = named('enqueue follow')
    expect(next).toMatchObject({ traceId, parent: second!.spanId })
    expect(named('run follow')).toMatchObject([
      { traceId, parent: next!.spanId, attributes: { 'gleaner.outcome': 'completed' } },
    ])
    expect(spans).toHaveLength(5)
    expect(await handle.result()).toBe('acme')
  })
})
