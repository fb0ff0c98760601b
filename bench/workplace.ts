import { execFile } from 'node:child_process'
import { rmSync, statfsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Stage, stageWith } from './processes.ts'
import type { Bench, Stock } from './scenarios/scenario.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const DATA = join(HERE, '.data')
const COMPILER = join(HERE, '../node_modules/.bin/tsc')
const TMPFS_MAGIC = 0x01021994

export interface Workplace extends Bench {
  close(): Promise<void>
}

/** The directory of one run: the compiled code, a fresh file for every measurement, filled files kept for copying. */
export async function openWorkplace({ quick }: { quick: boolean }): Promise<Workplace> {
  await mkdir(DATA, { recursive: true })
  if (statfsSync(DATA).type === TMPFS_MAGIC) throw new Error('bench/.data is in memory; this needs a disk')
  const home = await mkdtemp(join(DATA, 'run-'))
  const removeHome = () => rmSync(home, { recursive: true, force: true })
  process.once('exit', removeHome)
  const stage = stageWith(await compileInto(join(home, 'code')))

  return {
    ...stage,
    quick,
    size: (real, small) => (quick ? small : real),
    withFile: (measure) => withDirectory(home, (directory) => measure(join(directory, 'queue.db'))),
    withStock: stockroom(home, stage),
    async close() {
      process.removeListener('exit', removeHome)
      await rm(home, { recursive: true, force: true })
    },
  }
}

/**
 * What a user installs is JavaScript. Run from source, Node would strip types while we measure, which costs each
 * thread of a process some 30 MB and everybody a slower start.
 */
async function compileInto(directory: string): Promise<string> {
  await promisify(execFile)(COMPILER, ['-p', join(HERE, 'tsconfig.build.json'), '--outDir', directory])
  return join(directory, 'bench/child.js')
}

/** Fills a file once for the whole run and hands out copies. */
function stockroom(home: string, stage: Stage): Bench['withStock'] {
  const filled = new Map<string, Promise<string>>()

  async function fill({ contender, stock }: Stock): Promise<string> {
    const file = join(await mkdtemp(join(home, 'stock-')), 'queue.db')
    await stage.play('seed', { contender, file, stock: [...stock] })
    return file
  }

  return (stock, measure) => {
    const key = JSON.stringify(stock)
    const source = filled.get(key) ?? fill(stock)
    filled.set(key, source)
    return withDirectory(home, async (directory) => {
      const file = join(directory, 'queue.db')
      await copyToDisk(await source, file)
      return measure(file)
    })
  }
}

async function withDirectory<T>(home: string, use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(home, 'm-'))
  try {
    return await use(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Synced before the measurement begins, or the disk would still be busy with the copy during it. */
async function copyToDisk(source: string, target: string): Promise<void> {
  await copyFile(source, target)
  const file = await open(target, 'r+')
  await file.sync()
  await file.close()
}
