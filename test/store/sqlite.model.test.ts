import { storeModel } from './model/store-model.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

// What a sync costs is not the subject here.
storeModel(() => openSqliteDatabase({ durability: 'normal' }))
