import type { RenewalPlan, Renewer } from './contract.ts'
import { openSqliteRenewer } from './sqlite/sessions/renewer.ts'

export async function openRenewer(plan: RenewalPlan): Promise<Renewer> {
  switch (plan.store) {
    case 'sqlite':
      return openSqliteRenewer(plan.path)
    case 'postgres': {
      const { openPostgresRenewer } = await import('./postgres/sessions/renewer.ts')
      return openPostgresRenewer(plan.options)
    }
  }
}
