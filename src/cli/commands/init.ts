import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { InputError } from '../../errors.ts'
import type { Command } from '../console/command.ts'

const CONFIGS = ['gleaner.config.ts', 'gleaner.config.js', 'gleaner.config.mjs']

export const init: Command = {
  name: 'init',
  summary: 'Write a config and a first task.',
  operands: [{ name: 'folder', about: 'The folder. Default: this one.', optional: true }],
  about:
    'Writes gleaner.config.ts and tasks.ts into the folder: a SQLite file, one pool of two worker processes, ' +
    'and a task that runs every ten seconds. `gleaner dev` and `gleaner start` run it unchanged.\n\nIf the ' +
    'folder has a config or a tasks file already, the command writes nothing. In a package of CommonJS ' +
    'modules the files end in .mjs.',
  options: { js: { type: 'boolean', about: 'Write JavaScript instead of TypeScript.' } },
  examples: [
    ['gleaner init', 'Write the files into this folder.'],
    ['gleaner init --js jobs', 'Write JavaScript into the folder jobs.'],
  ],
  async run([folder = '.'], values, { cwd, print, style }) {
    const target = resolve(cwd, folder)
    const ending = endingFor(target, values.js === true)
    const files = { [`gleaner.config.${ending}`]: config(ending), [`tasks.${ending}`]: tasks() }
    refuseToOverwrite(target, Object.keys(files))
    mkdirSync(target, { recursive: true })
    for (const [name, text] of Object.entries(files)) {
      // 'wx': should somebody have been faster, his file stays.
      writeFileSync(join(target, name), text, { flag: 'wx' })
      print(`wrote ${relative(cwd, join(target, name)) || name}`)
    }
    const enter = target === cwd ? '' : `cd ${relative(cwd, target)} && `
    print()
    print(
      `Next, run ${style('cyan', `${enter}npx gleaner dev`)}, and ${style('cyan', 'npx gleaner status')} in another terminal.`,
    )
    return 0
  },
}

type Ending = 'ts' | 'js' | 'mjs'

function endingFor(folder: string, isScript: boolean): Ending {
  const type = packageType(folder)
  if (type === 'commonjs') return 'mjs'
  return isScript ? (type === 'module' ? 'js' : 'mjs') : 'ts'
}

/** Of the nearest package.json; undefined when it does not say. */
function packageType(folder: string): string | undefined {
  for (let at = folder; ; at = resolve(at, '..')) {
    const file = join(at, 'package.json')
    if (existsSync(file)) {
      const { type } = JSON.parse(readFileSync(file, 'utf8')) as { type?: string }
      return type
    }
    if (at === resolve(at, '..')) return undefined
  }
}

function refuseToOverwrite(folder: string, names: readonly string[]): void {
  const there = [...new Set([...CONFIGS, ...names])].filter((name) => existsSync(join(folder, name)))
  if (there.length === 0) return
  throw new InputError(`${folder} has ${there.join(' and ')} already`, {
    code: 'BAD_CONFIG',
    hint: 'Nothing was written. Choose another folder, or move these files.',
  })
}

function config(ending: Ending): string {
  return `import { defineConfig } from 'gleaner'
import { hello } from './tasks.${ending}'

export default defineConfig({
  // A file that Gleaner creates. Use 'postgres://user:password@host/database' when one machine is not enough.
  database: 'sqlite:./gleaner.db',
  tasks: [hello],
  pools: {
    // Two worker processes that run five tasks at a time each.
    main: { processes: 2, concurrency: 5, queues: ['default'] },
  },
})
`
}

function tasks(): string {
  return `import { defineTask } from 'gleaner'

// Runs every ten seconds, once, however many processes there are. To run a task on request, enqueue it:
//   const gleaner = await openGleaner({ database: 'sqlite:./gleaner.db', tasks: [hello] })
//   await gleaner.enqueue(hello)
export const hello = defineTask({
  name: 'hello',
  every: '10s',
  async run(_input, ctx) {
    ctx.log.info('hello from a worker process', { pid: process.pid })
    return { greeted: new Date().toISOString() }
  },
})
`
}
