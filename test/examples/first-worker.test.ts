import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { gleaner } from '../cli/cli.ts'
import { Journey } from '../cli/journey.ts'
import { folderWith, GLEANER } from '../config/files.ts'
import { blocksOf } from './docs.ts'
import { checkout, run } from './run-example.ts'

const blocks = blocksOf(checkout, 'docs/start/first-worker.md')

test('the page about the first supervised worker works as it is written', { timeout: 60_000 }, async () => {
  // The first run lasts until the test kills it, however slow the machine is. All others take a twentieth of the time.
  const pause = "ctx.id === '1' && ctx.attempt === 1 ? 1_000 : 50"
  const files = Object.fromEntries(
    blocks
      .filter(({ language }) => language === 'ts')
      .map(({ code }) => [fileNamed(code), code.replace("'gleaner'", GLEANER).replace('1_000', pause)]),
  )
  expect(Object.keys(files)).toEqual(['gleaner.config.ts', 'app.ts'])
  const folder = folderWith(files)
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  const [start, enqueue, workers, show, attempts] = commands()
  const list = async () => JSON.parse((await gleaner(folder, ...workers!, '--json')).stdout)
  const busy = async () => (await list()).find(({ phase }: { phase: string }) => phase === 'processing')?.pid

  const running = new Journey({ cwd: folder, env: { GLEANER_PORT: '0' } }, ...start!)
  await running.hears(/dashboard: http:.*#token=[\s\S]*worker:main:1 worker ready/)
  expect(await gleaner(folder, ...enqueue!)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/task 1\n/),
  })
  await expect.poll(busy, { timeout: 10_000 }).toEqual(expect.any(Number))
  const killed = await busy()
  process.kill(killed, 'SIGKILL')

  const rows = async () => JSON.parse((await gleaner(folder, ...attempts!, '--json')).stdout)
  await expect.poll(async () => (await rows()).length, { timeout: 10_000 }).toBe(2)
  const [first, second] = await rows()
  expect(first.outcome).toBe('crash')
  expect(second.worker).not.toBe(first.worker)
  await running.hears(new RegExp(`worker ended: .*SIGKILL.*\\(pid ${killed}\\)`))
  await expect
    .poll(async () => (await gleaner(folder, ...show!)).stdout, { timeout: 20_000 })
    .toMatch(/status +completed/)

  expect(await run('app.ts', { cwd: folder })).toEqual({ status: 0, stdout: 'enqueued 2\n', stderr: '' })
  running.signal('SIGINT')
  expect(await running.ended).toEqual({ code: 0, signal: null })
})

function fileNamed(code: string): string {
  return code.match(/^\/\/ (\S+)\n/)![1]!
}

/** What the page types, without `npx gleaner`. */
function commands(): string[][] {
  return blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.split('\n'))
    .filter((line) => line.startsWith('npx gleaner '))
    .map((line) =>
      line
        .split(' ')
        .slice(2)
        .map((word) => word.replaceAll("'", '')),
    )
}
