import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Signed by itself, for 127.0.0.1, valid for a hundred years. It protects nothing. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqr/B66vTdEBr4NYy
AW+DkFbuCcgNt7orM2XnALpxweqhRANCAASeLPKAdH/5Wc00OYtKQOwTMpGpum63
S9QE31ZGga+HzcAd5eGBRByA4YMmdd5f/pcX1Q2f48y3O0EodTXiPu1p
-----END PRIVATE KEY-----`
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmTCCAUGgAwIBAgIUOm7eSBUXCenA3DBnNduakoUIVDYwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTExNTE1M1oYDzIxMjYxMDIy
MTE1MTUzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASeLPKAdH/5Wc00OYtKQOwTMpGpum63S9QE31ZGga+HzcAd5eGBRByA
4YMmdd5f/pcX1Q2f48y3O0EodTXiPu1po28wbTAdBgNVHQ4EFgQUCX6wSSZzxcru
X2o80zAUdiR9x68wHwYDVR0jBBgwFoAUCX6wSSZzxcruX2o80zAUdiR9x68wDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDRgAwQwIgMHap6ZnblqshC7vzADNewv9Fip26VwNrmAns1kCVrmkCHx44
A/fudfXxL8zETw3oau5ss4kDhAD2LkFrijl9qrg=
-----END CERTIFICATE-----`

/** Speaks TLS in front of a server that does not. `secured` counts the connections it made safe. */
export async function openTlsFront(targetUrl: string) {
  const url = new URL(targetUrl)
  const target = { host: url.hostname, port: Number(url.port || 5432) }
  const sockets = new Set<Socket>()
  const front = { url: '', secured: 0, refused: 0, close }
  const server = createServer((plain) => {
    sockets.add(plain)
    plain.on('error', () => plain.destroy())
    plain.once('data', (asked) => {
      // The request for TLS is the first that a client says, or it wants none.
      if (asked.readInt32BE(4) !== 80_877_103) {
        front.refused += 1
        plain.destroy()
        return
      }
      plain.write('S')
      const safe = new TLSSocket(plain, { isServer: true, key: KEY, cert: CERTIFICATE })
      const behind = dial(target)
      sockets.add(behind)
      safe.once('secure', () => {
        front.secured += 1
      })
      for (const [from, to] of [
        [safe, behind],
        [behind, safe],
      ] as const) {
        from.pipe(to)
        from.on('error', () => to.destroy())
        from.on('close', () => to.destroy())
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  front.url = url.href

  async function close(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  return front
}
