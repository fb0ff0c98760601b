import { closedError } from '../errors.ts'
import { LibraryClaims } from '../worker/claims/library-claims.ts'
import type { ManualClaimRequest } from '../worker/claims/manual-claim-request.ts'
import type { PulledClaims } from '../worker/claims/pulled-claim.ts'
import { RemoteClaims } from '../worker/claims/remote-claims.ts'
import type { ClaimServices } from '../worker/claims/services.ts'
import { checkClaim } from './claim-options.ts'
import type { ClaimOptions } from './gleaner.ts'
import type { KnownDefinitions } from './work-options.ts'

const REMOTE_LEASE = { leaseMs: 60_000, leaseMinMs: 1_000 }

/** What is claimed by hand: by this process, and over HTTP. */
export interface Claims {
  claim(options?: ClaimOptions): Promise<PulledClaims>
  readonly remote: RemoteClaims
  remoteWish(options: ClaimOptions, remote: { caller: string; host: string }): ManualClaimRequest
  close(): Promise<void>
}

/** `onClaim` begins what goes with work: other processes must not have to end the sessions of ours. */
export function openClaims(
  services: ClaimServices,
  known: KnownDefinitions,
  onClaim: (wish: ManualClaimRequest) => void,
): Claims {
  let library: LibraryClaims | undefined
  let remote: RemoteClaims | undefined
  let isClosed = false
  const { leaseMs } = services.timings
  return {
    async claim(options = {}) {
      if (isClosed) throw closedError()
      const worker = `worker:pid${process.pid}:claims`
      const wish = checkClaim(options, known, { worker, leaseMs, leaseMinMs: leaseMs, remote: null })
      library ??= new LibraryClaims(services)
      const claiming = library.claim(wish)
      onClaim(wish)
      return claiming
    },
    get remote() {
      if (isClosed) throw closedError()
      remote ??= new RemoteClaims(services, known)
      return remote
    },
    remoteWish(options, { caller, host }) {
      const worker = caller === '' ? 'http' : caller
      const wish = checkClaim(options, known, { worker, ...REMOTE_LEASE, remote: { caller, host } })
      onClaim(wish)
      return wish
    },
    async close() {
      isClosed = true
      await Promise.all([library?.close(), remote?.close()])
    },
  }
}
