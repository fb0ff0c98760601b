import { readdirSync, type Stats, statSync } from 'node:fs'

const DESCRIPTORS = '/proc/self/fd'

/** The files that this process has open. Null: it cannot see them, as outside of Linux, and in a chroot without /proc. */
export function openDescriptors(): Stats[] | null {
  if (process.platform !== 'linux') return null
  const names = seen(() => readdirSync(DESCRIPTORS))
  return names?.flatMap((fd) => seen(() => statSync(`${DESCRIPTORS}/${fd}`)) ?? []) ?? null
}

/** Null: it cannot be seen, or is gone. */
export function seen<T>(look: () => T): T | null {
  try {
    return look()
  } catch {
    return null
  }
}
