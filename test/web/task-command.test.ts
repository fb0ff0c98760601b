import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import type { Task } from '../../src/http/wire/types.ts'
import { asCommand } from '../../web/pages/task-command.ts'

/** What a shell makes of it. */
function wordsOf(command: string): string[] {
  const said = execFileSync('sh', ['-c', `gleaner() { printf '%s\\0' "$@"; }; ${command}`], {
    encoding: 'utf8',
  })
  return said.split('\0').slice(0, -1)
}

test('a task copied as a command is the same task, whatever stands in it', () => {
  const input = { text: `it's "quoted" $(touch /tmp/x) \`id\` ; \\ \n !`, n: 9007199254740993n }
  const task = { name: 'mail.send', input, priority: 7, queue: 'slow', key: `-k'ey $HOME` } as unknown as Task
  expect(wordsOf(asCommand(task))).toEqual([
    'enqueue',
    'mail.send',
    JSON.stringify({ ...input, n: 0 }).replace('"n":0', '"n":9007199254740993'),
    '--priority',
    '7',
    '--queue',
    'slow',
    `--key=-k'ey $HOME`,
  ])
  const plain = { name: 'ping', input: null, priority: 100, queue: 'default', key: null } as unknown as Task
  expect(asCommand(plain)).toBe('gleaner enqueue ping')
})
