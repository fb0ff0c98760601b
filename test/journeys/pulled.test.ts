import { expect, onTestFinished } from 'vitest'
import { serve } from '../../src/http/index.ts'
import { ask } from '../http/server.ts'
import { until } from '../until.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { test } from './place.ts'
import { EFFECTS, effect, tasks } from './tasks.ts'

const timings = { sweep: '50ms', lease: '1s', idleMin: '50ms', idleMax: '100ms' } as const

test('what a killed process had pulled by hand is claimed again at once, and done once', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const { id } = await gleaner.enqueue(effect)
  const first = place.start('puller.ts', { timings: { ...timings, lease: '1h' } })
  const { fence } = await first.hears('claimed')
  const second = place.start('puller.ts', { timings: { ...timings, lease: '1h' } })
  await first.kill()
  expect(await second.hears('claimed')).toMatchObject({ id, attempt: 2 })
  second.tell('release')
  await second.hears('completed')
  expect((await second.hears('claimed')).fence).toBeGreaterThan(fence)
  expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed', result: second.pid, crashes: 1 })
  expect(place.connect().prepare('SELECT pid FROM effects').pluck().all()).toEqual([second.pid])
})

test('a process that was stopped for longer than its lease completes nothing that it had pulled', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks })
  place.connect().exec(EFFECTS)
  const { id } = await gleaner.enqueue(effect)
  const first = place.start('puller.ts', { timings })
  await first.hears('claimed')
  first.signal('SIGSTOP')
  const second = place.start('puller.ts', { timings })
  await second.hears('claimed')
  first.signal('SIGCONT')
  expect(await first.hears('aborted')).toMatchObject({ code: 'CLAIM_LOST' })
  first.tell('release')
  expect(await first.hears('refused')).toMatchObject({ code: 'CLAIM_LOST' })
  second.tell('release')
  await second.hears('completed')
  expect(await gleaner.tasks.get(id)).toMatchObject({ status: 'completed', result: second.pid, crashes: 0 })
  expect(place.connect().prepare('SELECT pid FROM effects').pluck().all()).toEqual([second.pid])
})

test('a caller whose network is cut loses its claim after its lease, and its late answer changes nothing', async ({
  place,
}) => {
  const gleaner = await place.open({ tasks, timings })
  const server = await serve(gleaner, { port: 0, local: true })
  const proxy = new CuttingProxy(server.port)
  const far = await proxy.listen()
  onTestFinished(async () => {
    await proxy.close()
    await server.close()
  })
  const { id } = await gleaner.enqueue(effect)
  const post = (url: string, path: string, body: object) =>
    ask(url, `/api/v1/claims${path}`, { method: 'POST', body })
  const wish = { names: ['effect'], lease: '1s', wait: '20s' }

  const [first] = (await post(far, '', wish)).body.items
  proxy.cut()
  await expect(post(far, `/${id}/renew`, { fence: first.fence })).rejects.toThrow()
  const [second] = (await post(server.url, '', wish)).body.items
  expect(second).toMatchObject({ id, attempt: 2 })
  proxy.mend()
  expect(await post(far, `/${id}/complete`, { fence: first.fence, result: 'late' })).toMatchObject({
    status: 409,
  })

  // The answer is lost, and the completion is not: sent again, it changes nothing.
  proxy.losesAnswers = true
  const said = { fence: second.fence, result: 'in time' }
  await expect(post(far, `/${id}/complete`, said)).rejects.toThrow()
  await until('it is completed', async () => (await gleaner.tasks.get(id))?.status === 'completed')
  proxy.mend()
  expect(await post(far, `/${id}/complete`, { ...said, result: 'twice' })).toMatchObject({ status: 409 })
  expect(await gleaner.tasks.get(id)).toMatchObject({ result: 'in time', attempts: 2 })
})

test('items whose answer never reached their caller go back after its lease', async ({ place }) => {
  const gleaner = await place.open({ tasks, timings })
  const server = await serve(gleaner, { port: 0, local: true })
  const proxy = new CuttingProxy(server.port)
  const far = await proxy.listen()
  onTestFinished(async () => {
    await proxy.close()
    await server.close()
  })
  const { id } = await gleaner.enqueue(effect)
  const wish = { names: ['effect'], lease: '1s', wait: '20s' }
  proxy.losesAnswers = true
  await expect(ask(far, '/api/v1/claims', { method: 'POST', body: wish })).rejects.toThrow()
  const again = await ask(server.url, '/api/v1/claims', { method: 'POST', body: wish })
  expect(again.body.items).toMatchObject([{ id, attempt: 2 }])
})
