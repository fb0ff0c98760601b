import { type Command, JSON_OPTION, PLACE_OPTIONS } from '../command.ts'
import { withOperations } from '../operations/open.ts'
import { printJson } from '../printing.ts'
import { coloured, overviewLines } from '../text/overview.ts'

export const status: Command = {
  name: 'status',
  summary: 'Show workers, their health, queues and alerts.',
  operands: [],
  about:
    'Shows who works on the database: supervisors and their workers with status, health and what they do, why one was ' +
    'given up, how much waits in each queue and discovery, and what a person should look at (alerts). Without --url ' +
    'it reads the database alone, so it works from any machine that reaches it, with or without a server.\n\n' +
    'An alert is raised for items that no live worker serves, an error rate above 10 %, a backlog above the limit, ' +
    'and when nothing was completed for a minute while work waits. `alerts` in the config changes these numbers.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner status', 'As it is now.'],
    ["gleaner status --json | jq '.alerts'", 'For a script.'],
    ['gleaner status --url http://127.0.0.1:8356', 'As a running server sees it.'],
  ],
  run: (_operands, values, terminal) =>
    withOperations(values, terminal, async (operations) => {
      const overview = await operations.overview()
      if (values.json === true) printJson(overview, terminal)
      else {
        const width = terminal.isInteractive ? terminal.columns : Number.POSITIVE_INFINITY
        for (const line of overviewLines(overview, width)) terminal.print(coloured(line, terminal.style))
      }
      return 0
    }),
}
