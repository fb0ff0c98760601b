import { expect, test } from 'vitest'
import { primaryGroupOf } from '../../src/process/primary-group.ts'

test('a user has the group that the system knows, and one that it does not know needs a named group', async () => {
  expect(await primaryGroupOf(0)).toBe(0)
  await expect(primaryGroupOf(3_999_999_999)).rejects.toMatchObject({
    code: 'BAD_CONFIG',
    hint: expect.stringContaining('gid'),
  })
})
