import { join } from 'node:path'
import { Child, type Said } from '../../journeys/child.ts'
import { until } from '../../until.ts'
import type { WORK } from './work.ts'

const PROGRAMS = join(import.meta.dirname, '../programs')

/** Whatever has not gone on by then never will. */
export const PATIENCE_MS = 180_000

export interface CrewOptions {
  producers: number
  work: keyof typeof WORK
  timings: object
}

/** What tells that a process goes on. */
const SIGN = { producer: 'acknowledged', worker: 'completed' } as const

export interface Member {
  name: string
  role: keyof typeof SIGN
  child: Child
}

/** Producers and workers that live through whatever happens to their database. */
export class Crew {
  readonly members: Member[] = []

  constructor(
    places: readonly { database: string; env?: NodeJS.ProcessEnv | undefined }[],
    { producers, work, timings }: CrewOptions,
  ) {
    for (const [n, { database, env }] of places.entries()) {
      const role = n < producers ? 'producer' : 'worker'
      const child = new Child(join(PROGRAMS, `fault-${role}.ts`), { database, work, timings }, env)
      this.members.push({ name: `${role} ${n}`, role, child })
    }
  }

  get acknowledged(): string[] {
    return this.members.flatMap(({ child }) =>
      child.all('acknowledged').flatMap(({ ids }) => ids as string[]),
    )
  }

  get problems(): string[] {
    return this.members.flatMap(({ child }) => child.all('problem').map(({ message }) => message as string))
  }

  get refusals(): string[] {
    return this.members.flatMap(({ child }) => child.all('refused').map(({ message }) => message as string))
  }

  async ready(): Promise<void> {
    await Promise.all(this.members.map(({ child }) => child.hears('ready')))
  }

  /** Each of them has done something that it began after this moment. How long after it the last one was done. */
  async goesOn(
    sinceMs: number,
    now: () => number,
    members: readonly Member[] = this.members,
  ): Promise<number> {
    await Promise.all(members.map((member) => goesOn(member, sinceMs)))
    return now() - sinceMs
  }

  async stop(role: Member['role']): Promise<void> {
    const members = this.members.filter((member) => member.role === role)
    for (const { child } of members) child.tell('stop')
    for (const { child, name } of members) {
      await until(`${name} ends`, () => !child.alive, PATIENCE_MS)
      const { code, signal } = await child.ended
      if (code !== 0) throw new Error(`${name} ended with ${signal ?? code}: ${child.errors}`)
    }
  }

  async dismiss(): Promise<void> {
    await Promise.all(this.members.map(({ child }) => child.kill()))
  }
}

async function goesOn({ name, role, child }: Member, sinceMs: number): Promise<void> {
  // What was said before is not looked at again.
  let next = Math.max(0, child.said.length - 50)
  const isSign = ({ event, startedMs }: Said) => event === SIGN[role] && startedMs > sinceMs
  await until(
    `${name} goes on`,
    () => {
      if (!child.alive) throw new Error(`${name} has ended: ${child.errors}`)
      const heard = child.said.slice(next)
      next = child.said.length
      return heard.some(isSign)
    },
    PATIENCE_MS,
  )
}
