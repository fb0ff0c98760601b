import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/free-port.ts'
import type { ContenderName } from '../contenders/contender.ts'
import type { Stage } from '../processes.ts'
import type { Stock } from '../scenarios/scenario.ts'
import { processorMs } from './processor-time.ts'
import { fillPlace } from './stockroom.ts'
import type { Place } from './workplace.ts'

const READY_TRIES_MAX = 200
const READY_TRY_MS = 25

export function isRedisContender(contender: ContenderName): boolean {
  return contender === 'postgres/bullmq-redis'
}

/** The path of the program; undefined where there is none. */
export function findRedis(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'redis-server'))
  return candidates.find(isExecutable)
}

/** A server of its own for every measurement: it has no templates to copy, and starts in no time. */
export function openRedis(home: string, stage: Stage) {
  async function fresh(): Promise<Place> {
    const directory = await mkdtemp(join(home, 'redis-'))
    const port = await freePort()
    const server = spawn(findRedis()!, settings(directory, port), { stdio: 'ignore' })
    await listening(port)
    return {
      address: `redis://127.0.0.1:${port}`,
      serverMs: () => processorMs(server.pid!),
      async remove() {
        await ended(server)
        await rm(directory, { recursive: true, force: true })
      },
    }
  }

  async function stocked(stock: Stock): Promise<Place> {
    const place = await fresh()
    await fillPlace(stage, stock, place.address)
    return place
  }

  return { fresh, stocked }
}

/** What is acknowledged survives a power cut, as it does on the others. */
function settings(directory: string, port: number): string[] {
  return [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory],
    ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
    ...['--maxmemory-policy', 'noeviction'],
  ]
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < READY_TRIES_MAX; tries++) {
    if (await answers(port)) return
    await sleep(READY_TRY_MS)
  }
  throw new Error('redis-server did not start')
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return
  const exit = new Promise((resolve) => server.once('exit', resolve))
  server.kill('SIGKILL')
  await exit
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
