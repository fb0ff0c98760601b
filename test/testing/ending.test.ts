import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../examples/run-example.ts'

test('an engine that nobody closed keeps no process alive', async () => {
  const { status, stdout, stderr } = await run(join(import.meta.dirname, 'programs/left-open.ts'))
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toMatchObject({ running: 1, scheduled: 1 })
})
