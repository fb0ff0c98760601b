import { type Command, JSON_OPTION, PLACE_OPTIONS } from '../console/command.ts'
import { jsonOf } from '../console/json-operand.ts'
import { printJson } from '../console/printing.ts'
import { withOperations } from '../operations/open.ts'

export const signal: Command = {
  name: 'signal',
  summary: 'Send a signal to a task or a row that waits for it.',
  operands: [
    { name: 'id', about: 'The id of a task, or `<discovery>/<key>` of a row.' },
    { name: 'signal', about: 'The name of the signal, as in ctx.waitFor.' },
    { name: 'json', about: 'The payload. - reads it from stdin.', optional: true },
  ],
  about:
    'When the command prints its answer, the signal is on disk. If nothing waits for it yet, it is kept until a run of the task or row ' +
    'does. `gleaner tasks explain` says what a suspended task waits for.',
  options: { ...PLACE_OPTIONS, json: JSON_OPTION },
  examples: [
    [`gleaner signal 4711 approval '{"by":"kim"}'`, 'Approve a task.'],
    ['gleaner signal tag-files/42 approval', 'Approve a row, without a payload.'],
  ],
  run: ([id, name, json], values, terminal) =>
    withOperations(values, terminal, async (operations) => {
      const payload = jsonOf(json === '-' ? await terminal.readAll() : json, 'payload')
      const { resumed } = await operations.signal(id!, name!, payload)
      if (values.json === true) printJson({ resumed }, terminal)
      else terminal.print(resumed ? `${id} runs again` : `the signal ${name} is kept for ${id}`)
      return 0
    }),
}
