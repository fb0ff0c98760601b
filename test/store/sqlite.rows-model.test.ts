import { rowsModel } from './rows-model/rows-model.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

// What a sync costs is not the subject here.
rowsModel(() => openSqliteDatabase({ durability: 'normal' }))
