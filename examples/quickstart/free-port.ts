import { createServer } from 'node:net'

/** The wanted port, or any free one if it is in use. */
export async function freePort(wanted: number): Promise<number> {
  return listeningOn(wanted).catch(() => listeningOn(0))
}

function listeningOn(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const { port: found } = server.address() as { port: number }
      server.close(() => resolve(found))
    })
  })
}
