import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { firstWords, verbsOf } from '../../src/cli/console/parse.ts'
import { COMMANDS } from '../../src/cli/table.ts'
import { folderWith } from '../config/files.ts'
import { gleaner } from './cli.ts'

async function script(shell: string): Promise<string> {
  const { code, stdout, stderr } = await gleaner(import.meta.dirname, 'completion', shell)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

test.each(['bash', 'zsh', 'fish'])(
  'gleaner completion %s knows every command, verb and option',
  async (shell) => {
    const text = await script(shell)
    for (const { name, options } of COMMANDS) {
      for (const word of name.split(' ')) expect(text).toMatch(new RegExp(`\\b${word}\\b`))
      for (const option of Object.keys(options))
        expect(text).toMatch(shell === 'fish' ? ` -l ${option} ` : `--${option}`)
    }
    // Quotes that do not close would swallow the rest of the script.
    for (const line of text.split('\n')) expect((line.match(/'/g) ?? []).length % 2).toBe(0)
  },
)

test('bash completes commands, verbs, options, values and files', async () => {
  const folder = folderWith({ 'app.backup': '' })
  writeFileSync(join(folder, 'completion.bash'), await script('bash'))
  const bash = (...args: string[]) => execFileSync('bash', args, { cwd: folder, encoding: 'utf8' })
  bash('-n', 'completion.bash')
  const completed = (...words: string[]) =>
    bash(
      '-c',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the shell
      'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gleaner; echo "${COMPREPLY[*]}"',
      'bash',
      'gleaner',
      ...words,
    ).trim()
  expect(completed('')).toBe([...firstWords(COMMANDS), 'help', '--help', '--version'].join(' '))
  expect(completed('ta')).toBe('tasks')
  expect(completed('tasks', '')).toBe(verbsOf(COMMANDS, 'tasks').join(' '))
  expect(completed('tasks', 'list', '--stat')).toBe('--status')
  expect(completed('tasks', 'list', '--status', 'f')).toBe('failed')
  expect(completed('tasks', '--status', 'f')).toBe('failed')
  expect(completed('completion', 'z')).toBe('zsh')
  expect(completed('restore', 'app')).toBe('app.backup')
  expect(completed('tasks', 'remove', '--y')).toBe('--yes')
})
