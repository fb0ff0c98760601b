import { InputError } from '../../errors.ts'
import type { WorkerRecord } from '../../model/worker.ts'
import type { WorkerAction } from '../../store/supervision.ts'
import { readRegistry } from '../../supervisor/reading.ts'
import { CONFIG_OPTION, type Command, JSON_OPTION, UsageError } from '../command.ts'
import { withStore } from '../opening.ts'
import { nearest } from '../suggest.ts'
import { bytes, columns, plural } from '../words.ts'

const ACTIONS = ['pause', 'resume', 'restart']

export const workers: Command = {
  name: 'workers',
  summary: 'List supervised workers; pause, resume or restart them.',
  operands: '[list|pause|resume|restart] [worker]',
  operandsMax: 2,
  about:
    'Without anything more, or with list, shows every supervised worker. pause, resume and restart reach the ' +
    'supervisors within two seconds, on whatever machine they run; without a worker they mean all of them.\n\n' +
    'A restart is a rolling one: the new process is ready before the old one leaves, one worker after the other, and ' +
    'no item is lost or charged for it.',
  options: { config: CONFIG_OPTION, json: JSON_OPTION },
  examples: [
    ['gleaner workers', 'The list.'],
    ['gleaner workers restart', 'All of them, one by one, e.g. after a deploy.'],
    ['gleaner workers pause worker:ml:0', 'One of them.'],
  ],
  run([action = 'list', worker], values, terminal) {
    if (action !== 'list' && !ACTIONS.includes(action)) {
      const meant = nearest(action, ['list', ...ACTIONS])
      throw new UsageError(
        `gleaner workers cannot ${action}`,
        meant === undefined
          ? `There are: list, ${ACTIONS.join(', ')}.`
          : `Did you mean: gleaner workers ${meant}`,
      )
    }
    return withStore(values, terminal, async (store) => {
      const { workers } = await readRegistry(store)
      if (action === 'list') {
        for (const line of values.json === true ? [JSON.stringify(workers, null, 2)] : listed(workers))
          terminal.print(line)
        return 0
      }
      if (worker !== undefined) mustBeKnown(worker, workers)
      const told = await store.command({
        action: action as WorkerAction,
        worker: worker ?? null,
        supervisor: null,
      })
      terminal.print(`told ${plural(told, 'supervisor')} to ${action} ${worker ?? 'all workers'}`)
      return told > 0 ? 0 : 1
    })
  },
}

function mustBeKnown(worker: string, workers: readonly WorkerRecord[]): void {
  const ids = workers.map(({ id }) => id)
  if (ids.includes(worker)) return
  const meant = nearest(worker, ids)
  throw new InputError(`there is no worker ${worker}`, {
    code: 'BAD_OPTION',
    hint: meant === undefined ? `There are: ${ids.join(', ') || 'none'}.` : `Did you mean ${meant}?`,
  })
}

function listed(workers: readonly WorkerRecord[]): string[] {
  if (workers.length === 0) return ['no supervised workers']
  return columns(
    ['worker', 'status', 'health', 'phase', 'pid', 'host', 'memory', 'restarts'],
    workers.map(({ id, status, health, phase, pid, host, rss, restarts }) => [
      id,
      status,
      health,
      phase ?? '-',
      pid === null ? '-' : String(pid),
      host,
      rss === null ? '-' : bytes(rss),
      String(restarts.total),
    ]),
  )
}
