import { InputError, isOutage, PermanentError, ResourceError, RetryLater } from '../../errors.ts'

/** Calling the step's function again would not help: what these errors ask for concerns the whole attempt. */
export function isFinal(error: unknown): boolean {
  const kinds = [PermanentError, ResourceError, RetryLater, InputError]
  return kinds.some((kind) => error instanceof kind) || isOutage(error)
}
