import { describe, expect, test } from 'vitest'
import { rowConformance, storeConformance } from '../conformance/index.ts'
import { openPostgresDatabase } from './postgres-database.ts'

storeConformance({ test, expect, describe, openDatabase: openPostgresDatabase })
rowConformance({ test, expect, describe, openDatabase: openPostgresDatabase })
