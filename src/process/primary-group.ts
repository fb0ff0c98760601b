import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { GleanerError } from '../errors.ts'

/** The group of a user, as the system knows it: without one, the user's program keeps the rights of the supervisor's group. */
export async function primaryGroupOf(uid: number): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)('id', ['-g', String(uid)])
    return Number(stdout)
  } catch (cause) {
    throw new GleanerError(`the group of the user ${uid} is not known: the system has no such user`, {
      code: 'BAD_CONFIG',
      hint: `Name the group beside the user: { uid: ${uid}, gid: … }.`,
      cause,
    })
  }
}
