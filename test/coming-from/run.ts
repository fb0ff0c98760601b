// npm run coming-from: type-checks the code of the pages "Coming from" with the real packages, and runs each script that moves
// what waits, against the queue that it is for. BullMQ needs `redis-server` on the PATH; without it that script is not run.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Block, blocksOf } from '../examples/docs.ts'
import { checkout, ended, run, start } from '../examples/run-example.ts'
import { startPostgres } from '../postgres-process.ts'
import { moves } from './moves.ts'

const scratch = mkdtempSync(join(tmpdir(), 'gleaner-coming-from-'))
const pages = readdirSync(join(checkout, 'docs/coming-from')).map((name) => `docs/coming-from/${name}`)
const blocks = pages
  .flatMap((page) => blocksOf(checkout, page))
  .filter(({ language }) => language === 'ts' || language === 'typescript')

linkPackages()
const tasks = `import { defineTask } from 'gleaner'
import { z } from 'zod'
export const sendMail = defineTask({ name: 'mail.send', input: z.object({ to: z.string() }) })
`
writeFileSync(join(scratch, 'tasks.ts'), onSource(tasks))
for (const block of blocks) writeFileSync(join(scratch, fileOf(block)), onSource(block.code))

try {
  await checkTypes()
  const server = await startPostgres(tmpdir(), ['-c', 'fsync=off'])
  try {
    for (const [file, move] of Object.entries(moves)) {
      const outcome = await move({ scratch, postgres: server.url, moveNow: (env) => moved(file, env) })
      console.log(`${file}: ${outcome}`)
    }
  } finally {
    await server.stop()
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

async function checkTypes(): Promise<void> {
  const config = {
    extends: join(checkout, 'tsconfig.json'),
    compilerOptions: {
      noUnusedLocals: false,
      noUnusedParameters: false,
      esModuleInterop: true,
      typeRoots: [join(checkout, 'node_modules/@types')],
    },
    include: ['*.ts'],
  }
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = await ended(start(process.execPath, [tsc, '-p', scratch]))
  assert.equal(status, 0, stdout)
  console.log(`${blocks.length} blocks of code fit the types of the packages`)
}

/** How many jobs the script says that it has moved. */
async function moved(file: string, env: Record<string, string>): Promise<number> {
  const { status, stdout, stderr } = await run(join(scratch, file), { cwd: scratch, env })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  return Number(/(\d+) jobs moved/.exec(stdout)?.[1])
}

function fileOf({ page, line, code }: Block): string {
  return code.match(/^\/\/ (move-\S+\.ts)\n/)?.[1] ?? `${page.replaceAll(/\W/g, '-')}-${line}.ts`
}

function onSource(code: string): string {
  return `${code.replaceAll("from 'gleaner'", `from '${join(checkout, 'src/index.ts')}'`)}\nexport {}\n`
}

/** Those of the checkout, and the queues of this folder's package.json. */
function linkPackages(): void {
  const modules = join(scratch, 'node_modules')
  mkdirSync(modules)
  writeFileSync(join(scratch, 'package.json'), '{ "type": "module" }')
  const peers = join(import.meta.dirname, 'node_modules')
  for (const name of [
    '@agendajs',
    'agenda',
    'bree',
    'bullmq',
    'graphile-worker',
    'ioredis',
    'liteque',
    'pg-boss',
  ])
    symlinkSync(join(peers, name), join(modules, name))
  for (const name of ['@types', 'better-sqlite3', 'pg', 'zod'])
    symlinkSync(join(checkout, 'node_modules', name), join(modules, name))
}
