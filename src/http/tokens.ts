import { createHash, timingSafeEqual } from 'node:crypto'
import { checkTokens, type Tokens } from '../config/tokens.ts'
import type { Role } from '../model/action.ts'

export interface KnownToken {
  /** Null: a token of the older form, which has no name. */
  name: string | null
  role: Role
  queues: readonly string[] | null
  /** What the browser keeps instead of the token. */
  cookie: string
}

/** Compares a secret with all known ones, in a time that does not depend on the secret. */
export class TokenList {
  readonly #tokens: { known: KnownToken; digest: Buffer; cookieDigest: Buffer }[]

  constructor(tokens: Tokens = []) {
    this.#tokens = checkTokens(tokens, 'tokens').map(({ name, role, token, queues }) => {
      const cookie = digestOf(`cookie of ${token}`).toString('base64url')
      return {
        known: { name, role, queues: queues ?? null, cookie },
        digest: digestOf(token),
        cookieDigest: digestOf(cookie),
      }
    })
  }

  get isEmpty(): boolean {
    return this.#tokens.length === 0
  }

  byToken(secret: string): KnownToken | null {
    return this.#find(secret, 'digest')
  }

  byCookie(secret: string): KnownToken | null {
    return this.#find(secret, 'cookieDigest')
  }

  #find(secret: string, field: 'digest' | 'cookieDigest'): KnownToken | null {
    const digest = digestOf(secret)
    let found: KnownToken | null = null
    for (const token of this.#tokens) if (timingSafeEqual(token[field], digest)) found = token.known
    return found
  }
}

/** Digests have one length, so that they can be compared in constant time. */
function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
