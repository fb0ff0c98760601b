import type { RenewalPlan, Renewer } from './contract.ts'

/** Of two stores only one is loaded. */
export async function openRenewer(plan: RenewalPlan): Promise<Renewer> {
  switch (plan.store) {
    case 'sqlite': {
      const { openSqliteRenewer } = await import('./sqlite/sessions/renewer.ts')
      return openSqliteRenewer(plan.path)
    }
    case 'postgres': {
      const { openPostgresRenewer } = await import('./postgres/sessions/renewer.ts')
      return openPostgresRenewer(plan.options)
    }
  }
}
