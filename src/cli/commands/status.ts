import { type Command, JSON_OPTION, PLACE_OPTIONS } from '../console/command.ts'
import { printJson } from '../console/printing.ts'
import { withOperations } from '../operations/open.ts'
import { coloured, overviewLines } from '../text/overview.ts'

export const status: Command = {
  name: 'status',
  summary: 'Show workers, their health, queues and alerts.',
  operands: [],
  about:
    'Shows supervisors and their workers with status, health and current items, why a worker was given up, ' +
    'how much work waits in each queue and discovery, and alerts that a person should look at. Without --url ' +
    'the command reads the database alone, so it works from any machine that reaches the database, with or ' +
    'without a server.\n\nAn alert is raised if no live worker serves waiting items, if more than 10 % of the ' +
    'attempts fail, if the backlog is above its limit, or if nothing completes for a minute while work ' +
    'waits. `alerts` in the config changes these numbers.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    ['gleaner status', 'Show the state now.'],
    ["gleaner status --json | jq '.alerts'", 'Print the alerts, for a script.'],
    ['gleaner status --url http://127.0.0.1:8356', 'Ask a running server.'],
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
