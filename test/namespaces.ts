import { spawnSync } from 'node:child_process'

/** Before a program: processes and a host name of its own, as in a container. Killed together with what started it. */
export const IN_A_CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--uts', '--mount-proc']

/** Before a program: the machine seems to be another one of the same name. The file holds its boot id. */
export function onAnotherBoot(file: string): string[] {
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'
  return ['unshare', '--mount', 'sh', '-c', script, file]
}

/** Before a program: as in a chroot without `/proc`. */
export const WITHOUT_PROC = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh']

/** Only root may, and not everywhere. */
export function canUnshare(): boolean {
  return spawnSync('unshare', ['--pid', '--fork', '--uts', '--mount-proc', 'true']).status === 0
}
