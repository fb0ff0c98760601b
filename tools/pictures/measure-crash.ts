import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { defineTask, openGleaner } from '../../src/index.ts'

/**
 * node tools/pictures/measure-crash.ts [kills]
 * Kills workers of a real `gleaner start` and prints when each part of the recovery happened: the figures of the
 * picture of a crash. Every time comes from the clock of this machine, in whole milliseconds.
 */
const KILLS = Number(process.argv[2] ?? 30)
const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'gleaner-crash-'))

writeFileSync(
  join(folder, 'gleaner.config.ts'),
  `import { setTimeout as sleep } from 'node:timers/promises'
   import { defineConfig, defineTask } from ${JSON.stringify(join(root, 'src/index.ts'))}
   const wait = defineTask({
     name: 'wait',
     async run(_input, ctx) {
       const startedAt = Date.now()
       if (ctx.attempt === 1) await sleep(60_000, undefined, { signal: ctx.signal })
       return startedAt
     },
   })
   export default defineConfig({
     database: 'sqlite:./app.db', tasks: [wait], pools: { main: { processes: 2, concurrency: 1 } }, server: false,
   })`,
)
const wait = defineTask({ name: 'wait' })
const start = spawn(process.execPath, [join(root, 'src/cli/bin.ts'), 'start', '--json'], { cwd: folder })
start.stderr.pipe(process.stderr)
const log: { time: number; msg: string; worker?: string; pid?: number }[] = []
createInterface(start.stdout).on('line', (line) => void log.push(JSON.parse(line)))
const gleaner = await openGleaner({ database: `sqlite:${join(folder, 'app.db')}`, tasks: [wait] })

try {
  const measured = []
  for (let n = 0; n < KILLS; n++) measured.push(await oneKill())
  for (const part of ['detected', 'givenBack', 'rerun', 'replaced'] as const) {
    const times = measured.map((one) => one[part]).sort((a, b) => a - b)
    const at = (share: number) => times[Math.ceil(share * KILLS) - 1]
    console.log(`${part}: p10 ${at(0.1)} ms, median ${at(0.5)} ms, p90 ${at(0.9)} ms after the kill`)
  }
} finally {
  await gleaner.close()
  start.kill('SIGTERM')
  await once(start, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

/** Milliseconds after the kill. */
async function oneKill() {
  const ready = () => log.filter(({ msg }) => msg === 'worker ready')
  const readyBefore = ready().length
  await until(() => readyBefore >= 2 || ready().length >= 2)
  const readyFrom = ready().length
  const handle = await gleaner.enqueue(wait)
  const busy = await until(async () => {
    const workers = await gleaner.workers.list()
    return workers.find(({ current }) => current.some(({ item }) => item === `wait/${handle.id}`))
  })
  const killedAt = Date.now()
  process.kill(busy.pid!, 'SIGKILL')
  const rerunAt = Number(await handle.result())
  const [first] = await gleaner.tasks.attempts(handle.id)
  const ended = await until(() =>
    log.find(({ msg, pid }) => pid === busy.pid && msg.startsWith('worker ended')),
  )
  const next = await until(() => ready()[readyFrom])
  // A task between two crashes: a worker that only crashes counts as broken.
  return {
    detected: ended.time - killedAt,
    givenBack: first!.finishedAt! - killedAt,
    rerun: rerunAt - killedAt,
    replaced: next.time - killedAt,
  }
}

async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const seen = await look()
    if (seen) return seen
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
