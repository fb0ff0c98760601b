import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test as plain } from 'vitest'
import { type Gleaner, type GleanerOptions, openGleaner } from '../../src/index.ts'
import { quickStart } from '../quick-start/environment.ts'
import { Child } from './child.ts'

/** A folder of a test's own, and everything that was started in it: gone when the test is over. */
export class Place {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'gleaner-journey-')))
  readonly file: string
  readonly #children: Child[] = []
  readonly #gleaners: Gleaner[] = []
  readonly #connections: Database.Database[] = []

  constructor() {
    this.file = join(this.folder, 'app.db')
  }

  get database(): string {
    return `sqlite:${this.file}`
  }

  async open(options: Omit<GleanerOptions, 'database'> & { database?: string } = {}): Promise<Gleaner> {
    const gleaner = await openGleaner({ database: this.database, ...options })
    this.#gleaners.push(gleaner)
    return gleaner
  }

  /** A connection of the app's own. */
  connect(file: string = this.file): Database.Database {
    const connection = new Database(file)
    this.#connections.push(connection)
    return connection
  }

  /** The environment of a child that loads one of these modules first, in each of its threads. */
  preload(module: 'deaf.ts' | 'blind.ts' | 'failing-keeper.ts'): NodeJS.ProcessEnv {
    return quickStart(`--import ${join(import.meta.dirname, module)}`)
  }

  /** One of `programs/`, on this place's database unless told otherwise. */
  start(program: string, argument: object = {}, env: NodeJS.ProcessEnv = {}, command: string[] = []): Child {
    const path = program.startsWith('/') ? program : join(import.meta.dirname, 'programs', program)
    return this.keep(new Child(path, { database: this.database, ...argument }, env, command))
  }

  /** Makes sure that it does not outlive the test. */
  keep(child: Child): Child {
    this.#children.push(child)
    return child
  }

  async clear(): Promise<void> {
    // Killed first: a child that holds a lock would keep the others waiting.
    await Promise.all(this.#children.map((child) => child.kill()))
    await Promise.all(this.#gleaners.map((gleaner) => gleaner.close()))
    for (const connection of this.#connections) connection.close()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

export const test = plain.extend<{ place: Place }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of what a fixture needs from here
  place: async ({}, use) => {
    const place = new Place()
    await use(place)
    await place.clear()
  },
})
