import { createHash, timingSafeEqual } from 'node:crypto'
import { checkTokens, type Tokens } from '../../config/tokens.ts'
import type { Role } from '../../model/action.ts'

export interface KnownToken {
  /** Null: a token of the older form, which has no name. */
  name: string | null
  role: Role
  queues: readonly string[] | null
  discoveries: readonly string[] | null
  session: BrowserSession
}

/**
 * What a browser keeps instead of the token. It sends a cookie to every port of the host, also to the server of another user. Only
 * pages of this server's own port can read the key, so that a session needs both.
 */
export interface BrowserSession {
  cookie: string
  key: string
}

/** Compares a secret with all known ones, in a time that does not depend on the secret. */
export class TokenList {
  readonly #tokens: { known: KnownToken; digest: Buffer; sessionDigest: Buffer }[]

  constructor(tokens: Tokens = []) {
    this.#tokens = checkTokens(tokens, 'tokens').map(({ name, role, token, queues, discoveries }) => {
      const cookie = digestOf(`cookie of ${token}`).toString('base64url')
      const session = { cookie, key: digestOf(`key of ${token}`).toString('base64url') }
      return {
        known: { name, role, queues: queues ?? null, discoveries: discoveries ?? null, session },
        digest: digestOf(token),
        sessionDigest: digestOf(secretOf(session)),
      }
    })
  }

  get isEmpty(): boolean {
    return this.#tokens.length === 0
  }

  byToken(secret: string): KnownToken | null {
    return this.#find(secret, 'digest')
  }

  bySession(session: BrowserSession): KnownToken | null {
    return this.#find(secretOf(session), 'sessionDigest')
  }

  #find(secret: string, field: 'digest' | 'sessionDigest'): KnownToken | null {
    const digest = digestOf(secret)
    let found: KnownToken | null = null
    for (const token of this.#tokens) if (timingSafeEqual(token[field], digest)) found = token.known
    return found
  }
}

function secretOf({ cookie, key }: BrowserSession): string {
  return [cookie, key].join(' ')
}

/** Digests have one length, so that they can be compared in constant time. */
function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
