import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escaped } from '../../src/cli/console/escape.ts'
import { colours } from '../../src/cli/console/terminal.ts'
import { columns } from '../../src/cli/console/words.ts'
import { Screen } from './pty/screen.ts'

const HOSTILE = {
  'an erased screen': '\x1b[2J',
  'a title': '\x1b]0;title\x07',
  'a link': '\x1b]8;;http://evil\x1b\\',
  'a sequence of 8 bits': '\x9b31m',
  'a question to the terminal': '\x1bP+q\x1b\\',
  'a return': 'a\rb',
  'a line': 'a\nb',
  'a backspace': 'a\bb',
  'another direction': '\u202egnp.exe',
  'a separator of lines': '\u2028',
  'a delete': '\x7f',
  'half a character': '\ud800',
  nothing: '\x00',
}

test.each(Object.entries(HOSTILE))('%s is shown, and not obeyed', (_name, text) => {
  for (const hasColours of [false, true]) {
    const { style, shown } = colours(hasColours)
    const line = shown(`${text}${style('red', text)}`)
    const ours = line.replaceAll('\x1b[31m', '').replaceAll('\x1b[39m', '')
    expect(ours).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202e]/u)
    expect(ours).toContain('\\')
    new Screen(80, 3).write(line)
  }
})

test('names, scripts and emoji stay as they are', () => {
  for (const text of ['Zoë', '日本語', 'می‌خواهم', '👩‍👩‍👧', 'a\\b', '<x>']) expect(escaped(text)).toBe(text)
})

test('JSON means the same when it is escaped', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(JSON.parse(escaped(JSON.stringify({ [text]: text })))).toEqual({ [text]: text })
    }),
  )
})

test('columns are as wide as they look', () => {
  const [, first, second] = columns(
    ['a', 'b'],
    [
      ['\x1b', 'x'],
      ['yy', 'z'],
    ],
  )
  expect(first!.indexOf('x')).toBe(second!.indexOf('z'))
})
