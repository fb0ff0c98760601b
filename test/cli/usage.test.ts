import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/main.ts'
import { nearest } from '../../src/cli/suggest.ts'
import { gleaner } from './cli.ts'

const here = import.meta.dirname

describe('wrong usage ends with 2, and says what was meant', () => {
  test.each([
    [[], /USAGE\n {4}gleaner <command>/],
    [['statsu'], /there is no command statsu\nDid you mean: gleaner status\n/],
    [['xyzzy'], /there is no command xyzzy\nSee gleaner --help\.\n/],
    [['--jason'], /there is no option --jason without a command/],
    [['status', '--jsn'], /gleaner status has no option --jsn\nDid you mean: --json\n/],
    [['status', '-x'], /gleaner status has no option -x\n/],
    [['status', 'now'], /gleaner status takes no now\n/],
    [['status', '--config'], /--config needs a value\n/],
    [['status', '--json=yes'], /--json takes no value\n/],
    [['pause', 'a', 'b'], /gleaner pause takes no b\n/],
    [['workers', 'stop'], /gleaner workers cannot stop\nThere are: list, pause, resume, restart\.\n/],
    [['top'], /gleaner top needs a terminal\nUse gleaner status/],
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
    ['enqueue', undefined],
  ])('%s is taken for %s', (word, meant) => {
    expect(
      nearest(
        word,
        COMMANDS.map(({ name }) => name),
      ),
    ).toBe(meant)
  })
})

describe('help', () => {
  test.each([['--help'], ['-h'], ['help']])('gleaner %s lists every command', async (flag) => {
    const { code, stdout } = await gleaner(here, flag)
    expect(code).toBe(0)
    for (const { name, summary } of COMMANDS)
      expect(stdout).toMatch(new RegExp(`    ${name} +${summary.slice(0, 20)}`))
  })

  test.each(COMMANDS.map(({ name }) => name))('gleaner %s --help reads like a manual', async (name) => {
    const { code, stdout, stderr } = await gleaner(here, name, '--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const sections = stdout.match(/^[A-Z ]+$/gm)
    expect(sections).toEqual([
      'NAME',
      'USAGE',
      'DESCRIPTION',
      'OPTIONS',
      'ENVIRONMENT',
      'EXIT STATUS',
      'EXAMPLES',
    ])
    for (const option of Object.keys(COMMANDS.find((one) => one.name === name)!.options)) {
      expect(stdout).toContain(`--${option}`)
    }
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect((await gleaner(here, 'help', name)).stdout).toBe(stdout)
  })

  test('gleaner --version says which it is', async () => {
    expect((await gleaner(here, '--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})
