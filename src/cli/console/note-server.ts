import type { Terminal } from './terminal.ts'

/** Who has said which server he means must not take this one for it. */
export function noteServer({ env, complain }: Terminal): void {
  if (env.GLEANER_URL) complain('note: this command uses the database of the config and ignores GLEANER_URL')
}
