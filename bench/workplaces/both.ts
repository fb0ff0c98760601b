import type { ContenderName } from '../contenders/contender.ts'
import type { Stage } from '../processes.ts'
import { openDatabases } from './databases.ts'
import { openFiles } from './files.ts'
import type { Grounds, WorkplaceOptions } from './workplace.ts'

/** Files for those on SQLite, databases of a server for the others, in one run. */
export async function openBoth(home: string, stage: Stage, options: WorkplaceOptions): Promise<Grounds> {
  const databases = await openDatabases(home, stage, options)
  const files = await openFiles(home, stage)
  const groundsOf = (contender: ContenderName) => (contender.startsWith('sqlite/') ? files : databases)
  return {
    facts: {
      versions: { ...files.facts.versions, ...databases.facts.versions },
      settings: databases.facts.settings,
    },
    fresh: (contender) => groundsOf(contender).fresh(contender),
    stocked: (stock) => groundsOf(stock.contender).stocked(stock),
    async close() {
      await files.close()
      await databases.close()
    },
  }
}
