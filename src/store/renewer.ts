import type { RenewalPlan, Renewer } from './contract.ts'
import { openSqliteRenewer } from './sqlite/renewer.ts'

export async function openRenewer(plan: RenewalPlan): Promise<Renewer> {
  switch (plan.store) {
    case 'sqlite':
      return openSqliteRenewer(plan.path)
    case 'postgres': {
      const { openPostgresRenewer } = await import('./postgres/renewer.ts')
      return openPostgresRenewer(plan.options)
    }
  }
}
