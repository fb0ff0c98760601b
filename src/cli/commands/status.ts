import { CONFIG_OPTION, type Command, JSON_OPTION } from '../command.ts'
import { withStore } from '../opening.ts'
import { readOverview } from '../overview.ts'
import { overviewLines } from '../overview-text.ts'

export const status: Command = {
  name: 'status',
  summary: 'Show workers, their health, queues and alerts.',
  operands: '',
  operandsMax: 0,
  about:
    'Shows who works on the database of the config: supervisors and their workers with status, health and what they ' +
    'do, why one was given up, how much waits in each queue, and what a person should look at (alerts). It reads the ' +
    'database alone, so it works from any machine that reaches it.\n\n' +
    'An alert is raised for items that no live worker serves, an error rate above 10 %, a backlog above the limit, ' +
    'and when nothing was completed for a minute while work waits. `alerts` in the config changes these numbers.',
  options: { config: CONFIG_OPTION, json: JSON_OPTION },
  examples: [
    ['gleaner status', 'As it is now.'],
    ["gleaner status --json | jq '.alerts'", 'For a script.'],
  ],
  run: (_operands, values, terminal) =>
    withStore(values, terminal, async (store, config) => {
      const overview = await readOverview(store, config)
      if (values.json === true) terminal.print(JSON.stringify(overview, null, 2))
      else {
        const width = terminal.isInteractive ? terminal.columns : Number.POSITIVE_INFINITY
        for (const line of overviewLines(overview, terminal.style, width)) terminal.print(line)
      }
      return 0
    }),
}
