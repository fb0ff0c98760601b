/** Stands in a list for an input or a result that is too large for one; `tasks.get` has the whole value. */
export interface Shortened {
  /** The size of the whole value, in bytes of JSON. */
  $shortened: { bytes: number }
}

/** Of an input or a result in a list, as JSON. So a page of 200 tasks has less than 4 MB, whatever they carry. */
export const LISTED_BYTES_MAX = 4_096

export function shortened(bytes: number): Shortened {
  return { $shortened: { bytes } }
}

/** True if a listing shows this value shortened. `tasks.get` returns it whole. */
export function isShortened(value: unknown): value is Shortened {
  const { $shortened } = (value ?? {}) as Partial<Shortened>
  return typeof $shortened?.bytes === 'number'
}
