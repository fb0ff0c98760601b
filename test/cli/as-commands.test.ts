import { expect, test } from 'vitest'
import { asCommands } from '../../src/cli/console/as-commands.ts'

test('advice for programs becomes advice for a terminal', () => {
  for (const [advice, command] of [
    ["To run it again, call `gleaner.tasks.retry('1')`.", 'To run it again, run `gleaner tasks retry 1`.'],
    ["To resume it, call `gleaner.queues.resume('mail')`.", 'To resume it, run `gleaner resume mail`.'],
    ['To resume, call `gleaner.resume()`.', 'To resume, run `gleaner resume`.'],
    ['`gleaner.workers.list()` names them.', '`gleaner workers list` names them.'],
    [
      "Call it: `gleaner.discoveries.release('tag', \"it's (1)\")`.",
      "Call it: `gleaner discoveries release tag 'it'\\''s (1)'`.",
    ],
  ] as const)
    expect(asCommands(advice)).toBe(command)
})

test('what has no command stays as it is', () => {
  const advice = "Or call `gleaner.work({ queues: ['mail'] })`."
  expect(asCommands(advice)).toBe(advice)
})
