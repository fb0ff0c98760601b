import type { DiscoveryScripts } from '../../sql/discovery-sql.ts'
import type { Scripts } from '../../sql/scripts.ts'
import { type DiscoveryCache, isOwnFault } from './discovery-cache.ts'

export function discoveryScripts(scripts: Scripts, book: DiscoveryCache): DiscoveryScripts {
  const knownOrProblem = (name: string) => {
    const known = book.getOrProblem(name)
    return known instanceof Error ? known : known.sql
  }
  return {
    read: (name, script) => scripts.read(() => script(book.get(name).sql)),
    readOrProblem: (name, script) => scripts.read(() => script(knownOrProblem(name))),
    write: (name, script) => scripts.write(() => script(book.get(name).sql)),
    writeStep: (name, script) => scripts.writeStep(() => script(knownOrProblem(name))),
    isOwnFault,
  }
}
