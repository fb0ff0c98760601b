import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { InputError } from '../src/errors.ts'

test('an error without a hint or a cause prints no empty fields', () => {
  const error = new InputError('the name is empty', { code: 'BAD_INPUT' })
  expect(inspect(error)).not.toContain('undefined')
  expect([error.message, error.hint, error.cause]).toEqual(['the name is empty', undefined, undefined])
})

test('an error ends with its hint, and keeps its cause', () => {
  const cause = new Error('out of space')
  const error = new InputError('nothing was written', { code: 'TOO_LARGE', hint: 'Pass a path.', cause })
  expect([error.message, error.hint, error.cause]).toEqual([
    'nothing was written. Pass a path.',
    'Pass a path.',
    cause,
  ])
})
