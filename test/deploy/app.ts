import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { folderWith } from '../config/files.ts'
import { checkout } from '../examples/run-example.ts'
import { until } from '../until.ts'

export const deploy = (file: string) => readFileSync(join(checkout, 'examples/deploy', file), 'utf8')

/** A folder as the deployment has it: the app, and the package beside it. */
export function deployedApp(): string {
  const source = JSON.stringify(join(checkout, 'src/index.ts'))
  const files = ['gleaner.config.ts', 'tasks.ts', 'web.ts'].map((name) => [
    name,
    deploy(name).replace("'gleaner'", source),
  ])
  const bin = `#!/usr/bin/env node\nimport ${JSON.stringify(join(checkout, 'src/cli/bin.ts'))}\n`
  const folder = folderWith({
    ...Object.fromEntries(files),
    'node_modules/gleaner/package.json': '{ "type": "module" }',
    'node_modules/gleaner/dist/cli/bin.js': bin,
  })
  const modules = join(folder, 'node_modules')
  chmodSync(join(modules, 'gleaner/dist/cli/bin.js'), 0o755)
  mkdirSync(join(modules, '.bin'))
  symlinkSync('../gleaner/dist/cli/bin.js', join(modules, '.bin/gleaner'))
  symlinkSync(join(checkout, 'node_modules/zod'), join(modules, 'zod'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  return realpathSync(folder)
}

export interface Deployment {
  command: readonly string[]
  cwd: string
  env: Record<string, string>
  /** What the manager sends to stop it. */
  signal: NodeJS.Signals
  /** Runs while the server is ready. */
  whileReady?: (url: string) => Promise<void>
}

/** Starts it as its manager would, stops it while a task runs, and answers how that ended. */
export async function lifeOf({ command, cwd, env, signal, whileReady }: Deployment) {
  const { GLEANER_DATABASE: _, ...inherited } = process.env
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: {
      ...inherited,
      GLEANER_PORT: '0',
      GLEANER_TOKEN: TOKEN,
      ...env,
      PATH: [env.PATH, dirname(process.execPath), process.env.PATH].filter(Boolean).join(':'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = once(child, 'close')
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (log += chunk))
  try {
    await until('it serves', () => SERVING.test(log) || child.exitCode !== null)
    const url = SERVING.exec(log)?.[1] ?? fail(log)
    const here = url.replace('0.0.0.0', '127.0.0.1')
    expectOk(await fetch(`${here}/healthz`))
    await until('it is ready', async () => (await fetch(`${here}/readyz`)).ok)
    await whileReady?.(here)
    const id = await enqueue(here)
    await until('the task runs', async () => (await task(here, id)).status === 'running')
    child.kill(signal)
    const [status] = await end
    return { status, id, log }
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  }
}

const SERVING = /serving (http:\/\/[^\s"]+)/
export const TOKEN = 'a-token-of-the-tests-1'
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }

async function enqueue(url: string): Promise<string> {
  const body = JSON.stringify({ name: 'mail.send', input: { to: 'ada@example.org' } })
  const response = await fetch(`${url}/api/v1/tasks`, { method: 'POST', headers, body })
  expectOk(response)
  return ((await response.json()) as { id: string }).id
}

async function task(url: string, id: string): Promise<{ status: string }> {
  return (await (await fetch(`${url}/api/v1/tasks/${id}`, { headers })).json()) as { status: string }
}

function fail(log: string): never {
  throw new Error(`it ended before it served:\n${log}`)
}

function expectOk(response: Response): void {
  if (!response.ok) throw new Error(`${response.url} answers ${response.status}`)
}
