import { openGleaner } from '../../../src/index.ts'
import { openTelemetry } from '../../../src/telemetry/index.ts'
import { argument, say } from '../../journeys/program.ts'
import { seen, startSdk } from '../sdk.ts'
import { embed, follow } from '../tasks.ts'

startSdk()
const { database } = argument<{ database: string }>()
const gleaner = await openGleaner({ database, tasks: [embed, follow], telemetry: openTelemetry() })
await gleaner.work().drained({ includeDelayed: true })
await gleaner.close()
say('spans', { spans: seen() })
