import type { ContenderName } from '../contenders/contender.ts'
import { findRedis } from '../workplaces/redis.ts'

export const OWN = ['sqlite/gleaner', 'postgres/gleaner'] as const satisfies readonly ContenderName[]

const ON_SQLITE = ['sqlite/plainjob', 'sqlite/liteque'] as const satisfies readonly ContenderName[]
const ON_SERVERS = [
  'postgres/graphile-worker',
  'postgres/graphile-worker-batched',
  'postgres/pg-boss',
] as const satisfies readonly ContenderName[]
const ON_REDIS = ['postgres/bullmq-redis'] as const satisfies readonly ContenderName[]

/** Those that can run here, Gleaner on its two databases among them. */
export const ALL: readonly ContenderName[] = [
  'sqlite/gleaner',
  ...ON_SQLITE,
  'postgres/gleaner',
  ...ON_SERVERS,
  ...(findRedis() === undefined ? [] : ON_REDIS),
]

const SHOWN: Partial<Record<ContenderName, string>> = {
  'sqlite/gleaner': 'Gleaner on SQLite',
  'postgres/gleaner': 'Gleaner on PostgreSQL',
  'sqlite/plainjob': 'plainjob',
  'sqlite/liteque': 'liteque',
  'postgres/graphile-worker': 'graphile-worker',
  'postgres/graphile-worker-batched': 'graphile-worker, batched',
  'postgres/pg-boss': 'pg-boss',
  'postgres/bullmq-redis': 'BullMQ on Redis',
}

/** In these suites both databases stand beside each other. */
export function shown(contender: ContenderName): string {
  return SHOWN[contender] ?? contender
}
