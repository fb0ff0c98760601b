import { configFile } from '../../config/load.ts'
import { CONFIG_OPTIONS, type Command, text } from '../console/command.ts'
import { onSignals } from '../console/signals.ts'

export const dev: Command = {
  name: 'dev',
  summary: 'Run everything for development, and restart it when the code changes.',
  operands: [],
  about:
    'Starts the workers, the server and the dashboard of the config. It creates the database if there is none. A ' +
    'config without pools gets one worker process.\n\n' +
    'When you save a file that the config imports, directly or not, everything restarts with the new code. Running ' +
    'items get half a second to finish. Unfinished items go back and lose no attempt. If the new code or the config ' +
    'has an error, the error is printed and the version before keeps running until you save the fix.\n\n' +
    'The log shows each task and row that completes or fails, with its duration, the lines of `ctx.log`, and what ' +
    'workers print. Ctrl-C stops everything.',
  options: {
    ...CONFIG_OPTIONS,
    verbose: { type: 'boolean', short: 'v', about: 'Also log when workers start and stop.' },
  },
  examples: [
    ['gleaner dev', 'Use the nearest config.'],
    ['gleaner dev --config jobs/gleaner.config.ts', 'Use this config.'],
  ],
  async run(_operands, values, terminal) {
    const { cwd, env, isInteractive } = terminal
    const config = configFile(text(values.config), { cwd, env, trust: values['trust-config'] === true })
    const colours = isInteractive && !env.NO_COLOR
    // The other commands load no supervisor.
    const { DevLoop } = await import('../dev/dev-loop.ts')
    const loop = new DevLoop({ config, verbose: values.verbose === true, colours }, terminal)
    const ignore = onSignals(
      () => void loop.stop(),
      () => void loop.stop(0),
    )
    const code = await loop.run()
    ignore()
    return code
  },
}
