import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Of all kinds. */
const CONNECTIONS_MAX = 2_000
/** Of those that have not sent a whole request. */
const WAITING_MAX = 1_000
/** So many are kept free for new ones. */
const SPARE = 50

/**
 * Keeps a server open for new clients. A connection waits until it has sent a whole request, and again when that is answered. When
 * too many wait, the one that has waited for the longest is closed: a client that sends its request is soon served, and whoever
 * holds many connections without a request loses those.
 */
export function limitConnections(server: Server): void {
  server.maxConnections = CONNECTIONS_MAX
  let open = 0
  /** In the order in which they began to wait. */
  const waiting = new Set<Socket>()
  server.on('connection', (socket) => {
    open += 1
    waiting.add(socket)
    socket.once('close', () => {
      open -= 1
      waiting.delete(socket)
    })
    if (waiting.size <= WAITING_MAX && open <= CONNECTIONS_MAX - SPARE) return
    const [longest] = waiting
    if (longest !== socket) longest?.destroy()
  })
  server.on('request', (request, response) => {
    const { socket } = request
    whenWhole(request, () => waiting.delete(socket))
    response.once('close', () => {
      if (!socket.destroyed) waiting.add(socket)
    })
  })
}

function whenWhole(request: IncomingMessage, then: () => void): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && (length ?? '0') === '0') then()
  else request.once('end', then)
}
