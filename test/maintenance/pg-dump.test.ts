import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { defineTask, openGleaner } from '../../src/index.ts'
import { dump } from '../../src/store/postgres/maintenance/pg-dump.ts'
import { installedPostgres, startInstalledPostgres } from '../installed-postgres.ts'
import { tempDatabase } from '../temp-database.ts'

const note = defineTask({ name: 'note', run: async () => {} })
const folderOf = () => dirname(tempDatabase())

/** A program that only answers what version it is: a server newer than it must not be dumped with it. */
function programOf(version: number): NodeJS.ProcessEnv {
  const bin = join(folderOf(), `bin-${version}`)
  mkdirSync(bin)
  for (const name of ['pg_dump', 'pg_restore']) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} (PostgreSQL) ${version}.1"\n`)
    chmodSync(join(bin, name), 0o755)
  }
  return { PATH: bin }
}

test('a backup without a pg_dump that fits names the versions that were found, and the command without the password', async () => {
  const url = 'postgres://app:secret@db.example:5432/shop?schema=jobs'
  const path = join(folderOf(), 'app.dump')
  const refused = dump({ url, ssl: undefined, major: 99, env: programOf(42) }, path, { overwrite: false })
  const error = await refused.catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'NOT_SUPPORTED' })
  expect(error.message).toMatch(/no pg_dump of version 99 or newer was found \(found: .*42.*\)/)
  expect(error.hint).toContain(
    `pg_dump --format=custom --file='${path}' 'postgres://app@db.example:5432/shop'`,
  )
  expect(error.message).not.toContain('secret')
})

test('a backup of a server with its own pg_dump holds tasks and the tables of the app, and can be restored', async ({
  skip,
}) => {
  const bin = installedPostgres()
  // The other tests bring a server without its client programs.
  if (bin === undefined) return skip('no PostgreSQL is installed here')
  const { url, stop } = await startInstalledPostgres(bin)
  onTestFinished(stop)
  const gleaner = await openGleaner({ database: url, tasks: [note] })
  const { id } = await gleaner.enqueue(note)
  await query(url, 'CREATE TABLE songs AS SELECT 7 AS id')
  const path = join(folderOf(), 'app.dump')
  const backup = await gleaner.maintenance.backup(path)
  expect(backup).toEqual({ path, bytes: statSync(path).size, startedAt: expect.any(Number) })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  await expect(gleaner.maintenance.backup(path)).rejects.toMatchObject({ code: 'BACKUP_EXISTS' })
  await gleaner.maintenance.backup(path, { overwrite: true })
  expect(readdirSync(dirname(path)).filter((name) => name.includes('partial'))).toEqual([])
  await gleaner.close()
  // What pg_dump says is in the error, and no file is left.
  const missing = { url: url.replace('/gleaner_test', '/nothing'), ssl: undefined, major: 1 }
  await expect(dump(missing, join(dirname(path), 'other'), { overwrite: false })).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringContaining('"nothing" does not exist'),
  })
  expect(readdirSync(dirname(path)).filter((name) => name.includes('other'))).toEqual([])

  await query(url, 'CREATE DATABASE restored')
  const restored = url.replace('/gleaner_test', '/restored')
  execFileSync(join(bin, 'pg_restore'), [`--dbname=${restored}`, path])
  expect(await query(restored, 'SELECT id FROM songs')).toEqual([{ id: 7 }])
  const again = await openGleaner({ database: restored, tasks: [note] })
  onTestFinished(() => again.close())
  expect(await again.tasks.get(id)).toMatchObject({ status: 'queued', name: 'note' })
})

async function query(url: string, sql: string): Promise<any[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
