import { storeModel } from './model/store-model.ts'
import { openPostgresDatabase } from './postgres-database.ts'

// What a sync costs is not the subject here.
storeModel(() => openPostgresDatabase({ durability: 'normal' }))
