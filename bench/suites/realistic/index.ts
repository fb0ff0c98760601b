import { openBoth } from '../../workplaces/both.ts'
import { openWorkplace } from '../../workplaces/workplace.ts'
import { ALL } from '../peers.ts'
import type { Suite } from '../suite.ts'
import { chatty } from './chatty.ts'
import { handlers } from './handlers.ts'
import { openLoops } from './open-loop.ts'

export const suite: Suite = {
  name: 'realistic',
  contenders: ALL,
  scenarios: [handlers, ...openLoops, chatty],
  openWorkplace: (options) => openWorkplace(options, openBoth),
  notes: `- Gleaner stands on both databases; the peers on theirs. What each of them is, the suites above say.
- **plainjob** takes one task at a time: for ten at a time, ten of its workers run in the process.
- **pg-boss** hands ten tasks to one call of its handler, which waits for all of them.`,
}
