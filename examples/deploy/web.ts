// The web process. It enqueues, and runs no worker: node web.ts
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openGleaner } from 'gleaner'
import { sendMail } from './tasks.ts'

const database = process.env.GLEANER_DATABASE ?? `sqlite:${import.meta.dirname}/app.db`
const gleaner = await openGleaner({ database, tasks: [sendMail] })

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname === '/healthz') return response.end('ok\n')
  if (request.method !== 'POST') return response.writeHead(404).end('POST /<address>\n')
  const to = decodeURIComponent(pathname.slice(1))
  try {
    const { id } = await gleaner.enqueue(sendMail, { to })
    response.writeHead(202, { 'content-type': 'application/json' }).end(`${JSON.stringify({ id })}\n`)
  } catch (error) {
    console.error(error)
    response.writeHead(500).end('The mail was not accepted.\n')
  }
})

server.listen(Number(process.env.PORT ?? 8080), process.env.HOST ?? '127.0.0.1', () =>
  console.log(`listening on port ${(server.address() as AddressInfo).port}`),
)

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close(() => gleaner.close())
    server.closeIdleConnections()
  })
}
