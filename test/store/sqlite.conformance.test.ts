import { describe, expect, test } from 'vitest'
import { rowConformance, storeConformance } from '../conformance/index.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

storeConformance({ test, expect, describe, openDatabase: openSqliteDatabase })
rowConformance({ test, expect, describe, openDatabase: openSqliteDatabase })
