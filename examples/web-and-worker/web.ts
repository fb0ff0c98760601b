// The web process: enqueues and answers. Run it in another terminal: node examples/web-and-worker/web.ts
//   curl -X POST 'http://127.0.0.1:8080/thumbnails?url=https://example.org/a.jpg&width=320'
//   curl http://127.0.0.1:8080/thumbnails/1
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { InputError, openGleaner } from '../../src/index.ts' // in your own project: from 'gleaner'
import { database, thumbnail } from './tasks.ts'

const gleaner = await openGleaner({ database, tasks: [thumbnail] })

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const answer = request.method === 'POST' ? order(url) : look(url)
  answer
    .then(({ status, body }) => send(response, status, body))
    .catch((error) => send(response, error instanceof InputError ? 400 : 500, { error: error.message }))
})

/** 202: it is on disk, a worker will do it. Bad input never gets that far: enqueue throws an InputError. */
async function order({ searchParams }: URL) {
  const input = { url: searchParams.get('url') ?? '', width: Number(searchParams.get('width')) }
  const handle = await gleaner.enqueue(thumbnail, input, { key: `${input.url} ${input.width}` })
  return { status: 202, body: { id: handle.id, created: handle.created } }
}

async function look({ pathname }: URL) {
  const task = await gleaner.tasks.get(pathname.replace('/thumbnails/', ''))
  if (task === null) return { status: 404, body: { error: 'no such task' } }
  return {
    status: 200,
    body: { status: task.status, result: task.result, error: task.error?.message ?? null },
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => gleaner.close())
    server.closeAllConnections()
  })
}
