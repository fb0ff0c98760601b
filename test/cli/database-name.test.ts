import { expect, test } from 'vitest'
import { withoutPassword } from '../../src/cli/console/database-name.ts'

test.each([
  ['postgres://kim:secret@host/app', 'postgres://kim@host/app'],
  ['postgres://kim:sec@ret@host/app', 'postgres://kim@host/app'],
  ['postgres://kim:sec/ret@host/app', 'postgres://kim@host/app'],
  ['postgres://kim:sec?ret#@host/app', 'postgres://kim@host/app'],
  ['postgres:kim:secret@host/app', 'postgres:kim@host/app'],
  ['postgres://kim:secret@one:5433,two/app', 'postgres://kim@one:5433,two/app'],
  ['postgres://host:5432/app?user=kim&password=secret', 'postgres://host:5432/app?user=kim&password=…'],
  ['postgres://host:5432/app', 'postgres://host:5432/app'],
  ['sqlite:/home/kim:one@two/app.db', 'sqlite:/home/kim:one@two/app.db'],
])('%s is shown as %s', (database, shown) => {
  expect(withoutPassword(database)).toBe(shown)
})
