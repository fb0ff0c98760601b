/** Milliseconds of the machine's monotonic clock: comparable between processes of one boot, unlike performance.now(). */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
