import { realpathSync } from 'node:fs'
import { InputError } from '../errors.ts'
import { whyForeign } from '../file-owner.ts'

/**
 * A config is code. One that was found by looking upwards may lie in a folder of another user, e.g. `/tmp`, so it is executed only
 * if only this user or root could have put it there.
 */
export function checkOwner(file: string, env: NodeJS.ProcessEnv): void {
  const us = process.getuid?.()
  if (us === undefined) return
  // Under sudo the files are those of the user who called it.
  const caller = us === 0 && /^\d+$/.test(env.SUDO_UID ?? '') ? Number(env.SUDO_UID) : us
  const trusted = [0, us, caller]
  // A link is checked as well as what it leads to: whoever can replace the link chooses what is executed.
  for (const path of new Set([file, realpathSync(file)])) {
    const why = whyForeign(path, trusted)
    if (why !== null) throw foreign(file, why)
  }
}

function foreign(file: string, why: string): InputError {
  return new InputError(`${file} is not executed, because ${why}`, {
    code: 'BAD_CONFIG',
    hint: 'If you trust it, name it with --config, or pass --trust-config (in containers: GLEANER_TRUST_CONFIG=1).',
  })
}
