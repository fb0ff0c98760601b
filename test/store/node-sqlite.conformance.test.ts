import { describe, expect, test } from 'vitest'
import { rowConformance, storeConformance } from '../conformance/index.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

/** Where the two libraries could differ: types, named values, errors, functions, transactions. The rest costs 15 s. */
const CORE = [
  "a user's own transaction",
  'checking',
  'claiming',
  'claiming rows',
  'comparing',
  'counting',
  'effects',
  'effects of rows',
  'keys of rows',
  'pausing',
  'planning rows',
  'settling',
  'settling rows',
]
const TORTURE = process.env.GLEANER_TORTURE === '1'

const openDatabase = () => openSqliteDatabase({ library: 'node:sqlite' })
const some = (subject: string, define: () => void) =>
  describe.skipIf(!TORTURE && !CORE.includes(subject))(subject, define)

storeConformance({ test, expect, describe: some, openDatabase })
rowConformance({ test, expect, describe: some, openDatabase })
