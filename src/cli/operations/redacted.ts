import type { Redact } from '../../http/protocol/redact.ts'

/** These tell of one record, which `get` or `row` reads by the same arguments. What is hidden in it is hidden in them. */
const OF_ONE_RECORD = ['explain', 'logs', 'attempts', 'steps', 'tree']

/** The same, with every answer as the server of this config would let it out: a command prints the same whichever way it goes. */
export function redacted<T extends object>(operations: T, redact: Redact): T {
  const { get, row } = operations as Record<string, unknown>
  const read = get ?? row
  const aboutOf = async (name: string, args: unknown[]) =>
    OF_ONE_RECORD.includes(name) && typeof read === 'function' ? read.apply(operations, args) : undefined
  const hiding = Object.entries(operations).map(([name, member]) => {
    if (typeof member !== 'function') return [name, redacted(member, redact)]
    return [
      name,
      async (...args: unknown[]) => redact(await member.apply(operations, args), await aboutOf(name, args)),
    ]
  })
  return Object.fromEntries(hiding)
}
