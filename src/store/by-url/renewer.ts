import type { RenewalPlan, Renewer } from '../ports/renewal.ts'

/** Of two stores only one is loaded. */
export async function openRenewer(plan: RenewalPlan, leaseMs: number): Promise<Renewer> {
  switch (plan.store) {
    case 'sqlite': {
      const { openSqliteRenewer } = await import('../sqlite/sessions/renewer.ts')
      return openSqliteRenewer(plan.path, leaseMs, plan.library)
    }
    case 'postgres': {
      const { openPostgresRenewer } = await import('../postgres/sessions/renewer.ts')
      return openPostgresRenewer(plan.options, leaseMs)
    }
  }
}
