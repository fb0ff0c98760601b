import type { RenewalPlan, Renewer } from './contract.ts'
import { openSqliteRenewer } from './sqlite/renewer.ts'

export function openRenewer(plan: RenewalPlan): Renewer {
  switch (plan.store) {
    case 'sqlite':
      return openSqliteRenewer(plan.path)
  }
}
