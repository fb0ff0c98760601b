import { openPostgresDatabase } from './postgres-database.ts'
import { rowsModel } from './rows-model/rows-model.ts'

rowsModel(openPostgresDatabase)
