import { describe, expect, test } from 'vitest'
import { firstWords, verbsOf } from '../../src/cli/console/parse.ts'
import { COMMANDS } from '../../src/cli/table.ts'
import { nearest } from '../../src/options.ts'
import { gleaner } from './cli.ts'

const here = import.meta.dirname

describe('wrong usage ends with 2, and says what was meant', () => {
  test.each([
    [[], /SYNOPSIS\n {4}gleaner <command>/],
    [['statsu'], /there is no command statsu\nDid you mean: gleaner status\n/],
    [['xyzzy'], /there is no command xyzzy\nSee gleaner --help\.\n/],
    [['--jason'], /there is no option --jason without a command/],
    [['status', '--jsn'], /gleaner status has no option --jsn\nDid you mean: --json\n/],
    [['status', '-x'], /gleaner status has no option -x\n/],
    [['status', 'now'], /gleaner status does not take the argument now\n/],
    [['status', '--config'], /--config needs a value\n/],
    [['status', '--json=yes'], /--json takes no value\n/],
    [['pause', 'a', 'b'], /gleaner pause does not take the argument b\n/],
    [
      ['workers', 'stop'],
      /there is no command gleaner workers stop\nThere are: list, pause, resume, restart\.\n/,
    ],
    [
      ['queues', 'pause', 'mail'],
      /there is no command gleaner queues pause\nDid you mean: gleaner pause <queue>\n/,
    ],
    [['tasks', 'lits'], /there is no command gleaner tasks lits\nDid you mean: gleaner tasks list\n/],
    [['tasks', 'show'], /gleaner tasks show needs <id>\nSee gleaner tasks show --help\.\n/],
    [['tasks', '--status', 'fialed'], /--status: there is no fialed\nDid you mean failed\?\n/],
    [['tasks', '--limit', '0'], /--limit: 0 is not valid\n/],
    [['tasks', 'retry'], /needs to know which tasks\nName ids, or use filters/],
    [['tasks', 'cancel', '7', '--all'], /ids and filters exclude each other/],
    [['tasks', 'list', '--created-after', 'yesterday'], /--created-after: yesterday is not a time\n/],
    [['backup'], /gleaner backup needs <file>\n/],
    [['backup', 'a', '--url', 'http://x'], /gleaner backup has no option --url\n/],
    [['completion', 'tcsh'], /shell: there is no tcsh\nThere are: bash, zsh, fish\.\n/],
    [['status', '--url', 'nowhere'], /--url: this is not the address of a server\n/],
    [
      ['status', '--url', 'http://kim:secret@host'],
      /--url: this is not the address of a server\n(?!.*secret)/,
    ],
    [['help', 'tasks', 'shwo'], /Did you mean: gleaner tasks show/],
    [['top'], /gleaner top needs a terminal\nUse `gleaner status`/],
    [['help', 'strat'], /Did you mean: gleaner start/],
  ])('gleaner %j', async (args, expected) => {
    const { code, stdout, stderr } = await gleaner(here, ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(expected)
  })

  test.each([
    ['sttaus', 'status'],
    ['statu', 'status'],
    ['inti', 'init'],
    ['dctor', 'doctor'],
    ['x', undefined],
    ['enqeue', 'enqueue'],
    ['dequeue', 'enqueue'],
    ['teleport', undefined],
  ])('%s is taken for %s', (word, meant) => {
    expect(nearest(word, firstWords(COMMANDS))).toBe(meant)
  })
})

describe('help', () => {
  test.each([['--help'], ['-h'], ['help']])('gleaner %s lists every command', async (flag) => {
    const { code, stdout } = await gleaner(here, flag)
    expect(code).toBe(0)
    for (const { name, summary } of COMMANDS) {
      const [word, verb] = name.split(' ')
      expect(stdout).toMatch(new RegExp(`^    ${word} +.*${verb ?? summary.slice(0, 20)}`, 'm'))
    }
  })

  test.each(COMMANDS.map(({ name }) => name))('gleaner %s --help reads like a manual', async (name) => {
    const { code, stdout, stderr } = await gleaner(here, ...name.split(' '), '--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const sections = stdout.match(/^[A-Z ]+$/gm)
    const { operands, options } = COMMANDS.find((one) => one.name === name)!
    expect(sections).toEqual([
      'NAME',
      'SYNOPSIS',
      'DESCRIPTION',
      ...(operands.length > 0 ? ['OPERANDS'] : []),
      'OPTIONS',
      'ENVIRONMENT',
      'EXIT STATUS',
      'EXAMPLES',
    ])
    for (const option of Object.keys(options)) {
      expect(stdout).toContain(`--${option}`)
    }
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect((await gleaner(here, 'help', ...name.split(' '))).stdout).toBe(stdout)
  })

  test.each(['tasks', 'discoveries', 'queues', 'schedules', 'workers'])(
    'gleaner %s --help lists what can be done with them',
    async (group) => {
      const { code, stdout } = await gleaner(here, group, '--help')
      expect(code).toBe(0)
      for (const verb of verbsOf(COMMANDS, group)) expect(stdout).toContain(`${group} ${verb}  `)
    },
  )

  test('gleaner --version says which it is', async () => {
    expect((await gleaner(here, '--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})
