import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { remoteOperations } from '../../src/cli/operations/remote.ts'
import { connect } from '../../src/http/client.ts'
import { type RunningServer, serve } from '../../src/http/index.ts'
import { inLines } from '../../src/http/protocol/progress-lines.ts'
import { listen } from './listener.ts'
import { openServer, plain } from './server.ts'

const WORDING = { write: JSON.stringify, failed: (error: unknown) => ({ error: String(error) }) }

/** Work that the test tells how far it is. */
function slowly() {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const told: ((soFar: unknown) => void)[] = []
  const work = (tell: (soFar: unknown) => void) => {
    told.push(tell)
    return promise
  }
  return { work, tell: (soFar: unknown) => told[0]!(soFar), resolve, reject }
}

async function reading(response: Promise<Response>) {
  const reader = (await response).body!.getReader()
  return async () => new TextDecoder().decode((await reader.read()).value)
}

test('progress is told as it comes, to who reads slowly the latest only', async () => {
  const { work, tell, resolve } = slowly()
  const answering = inLines(work, WORDING)
  tell(1)
  const read = await reading(answering)
  expect(await read()).toBe('{"progress":1}\n')
  for (let i = 2; i <= 1_000; i++) tell(i)
  expect(await read()).toBe('{"progress":1000}\n')
  resolve('done')
  expect(await read()).toBe('{"answer":"done"}\n')
})

test('what fails at once can have a status of its own, and what fails later has a line', async () => {
  const atOnce = slowly()
  const refused = inLines(atOnce.work, WORDING)
  atOnce.reject(new Error('no'))
  await expect(refused).rejects.toThrow('no')
  const later = slowly()
  const answering = inLines(later.work, WORDING)
  later.tell(1)
  const read = await reading(answering)
  await read()
  later.reject(new Error('no more'))
  expect(await read()).toBe('{"error":"Error: no more"}\n')
})

function operationsOf({ url }: Pick<RunningServer, 'url'>) {
  return remoteOperations(connect(url, undefined)).tasks
}

test('a bulk change through a server tells how far it is while it goes on, and is seen at once', async () => {
  const { gleaner } = await openServer()
  const go = Promise.withResolvers<void>()
  const tasks: typeof gleaner.tasks = {
    ...gleaner.tasks,
    async cancelAll(filter, options) {
      options?.onProgress?.({ changed: 0, refused: 0 })
      await go.promise
      return gleaner.tasks.cancelAll(filter, options)
    },
  }
  // Who looks rests an hour afterwards, unless somebody has acted.
  const server = await serve({ ...gleaner, tasks }, { port: 0, local: true, timings: { lookMs: 3_600_000 } })
  onTestFinished(() => server.close())
  await gleaner.enqueueMany(plain, Array(300).fill(undefined))
  const events = await listen(`${server.url}/api/v1/events?topics=counts`)
  await events.until(({ data }) => data.counts.queued === 300)
  const seen: number[] = []
  const answer = await operationsOf(server).cancelAll(
    { name: 'plain' },
    {
      onProgress({ changed }) {
        seen.push(changed)
        go.resolve()
      },
    },
  )
  expect(answer).toEqual({ changed: 300, statuses: { queued: 300 }, refused: 0, refusals: [], dryRun: false })
  expect(seen[0]).toBe(0)
  expect(seen.at(-1)).toBe(300)
  await events.until(({ data }) => data.counts.cancelled === 300)
}, 30_000)

test('what is refused is refused as ever, and an answer that breaks off is no success', async () => {
  const server = await openServer()
  const onProgress = () => {}
  await expect(operationsOf(server).retryAll({}, { onProgress })).rejects.toMatchObject({
    code: 'BAD_OPTION',
  })
  // Who does not ask for lines gets none.
  expect(await server.post('/api/v1/tasks/cancel', { all: true })).toMatchObject({
    status: 200,
    body: { changed: 0 },
  })
  const broken = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    response.end('{"progress":{"changed":1,"refused":0}}\n')
  }).listen(0)
  onTestFinished(() => void broken.close())
  const url = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`
  await expect(operationsOf({ url }).retryAll({ queue: 'a' }, { onProgress })).rejects.toMatchObject({
    code: 'SERVER_AWAY',
  })
})
