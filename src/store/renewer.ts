import type { RenewalPlan, Renewer } from './contract.ts'
import { openPostgresRenewer } from './postgres/renewer.ts'
import { openSqliteRenewer } from './sqlite/renewer.ts'

export function openRenewer(plan: RenewalPlan): Renewer {
  switch (plan.store) {
    case 'sqlite':
      return openSqliteRenewer(plan.path)
    case 'postgres':
      return openPostgresRenewer(plan.options)
  }
}
