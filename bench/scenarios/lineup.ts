import type { ContenderName } from '../contenders/contender.ts'

/** Who takes part in a scenario, and with how much. */
export interface Runner {
  readonly contender: ContenderName
  readonly tasks: number
  readonly note?: string
  readonly roundsMax?: number
}

type Extras = Pick<Runner, 'note' | 'roundsMax'>

export function everyone(tasks: number, contenders: readonly ContenderName[], extras: Extras = {}): Runner[] {
  return contenders.map((contender) => ({ contender, tasks, ...extras }))
}

/** A tenth is enough to know the rate of those that take a millisecond or more for each. */
export function aTenth(tasks: number, contenders: readonly ContenderName[], extras: Extras = {}): Runner[] {
  const note = [extras.note, 'a tenth of the tasks'].filter(Boolean).join('; ')
  return everyone(tasks / 10, contenders, { ...extras, note })
}
