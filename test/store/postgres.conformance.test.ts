import { describe, expect, test } from 'vitest'
import { storeConformance } from '../../src/testing/conformance/index.ts'
import { openPostgresDatabase } from './postgres-database.ts'

storeConformance({ test, expect, describe, openDatabase: openPostgresDatabase })
