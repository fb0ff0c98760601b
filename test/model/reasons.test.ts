import { expect, test } from 'vitest'
import { commandWord } from '../../src/model/reasons.ts'

test('a key that a shell would take for more than a word stands in no command', () => {
  expect(['42', 'a.flac', 'user:7', 'ada@example.org'].map(commandWord)).toEqual([
    '42',
    'a.flac',
    'user:7',
    'ada@example.org',
  ])
  const harmful = ['$(reboot)', '`reboot`', '1; reboot', "'", '--all', '', 'a b', 'a\nb', '*']
  expect(harmful.map(commandWord)).toEqual(harmful.map(() => '<key>'))
})
