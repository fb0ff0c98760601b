import type { Redact } from '../../http/redact.ts'

/** The same, with every answer as the server of this config would let it out: a command prints the same whichever way it goes. */
export function redacted<T extends object>(operations: T, redact: Redact): T {
  const hiding = Object.entries(operations).map(([name, member]) => {
    if (typeof member !== 'function') return [name, redacted(member, redact)]
    return [name, async (...args: unknown[]) => redact(await member.apply(operations, args))]
  })
  return Object.fromEntries(hiding)
}
