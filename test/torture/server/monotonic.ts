/** The same clock in all processes of the machine, which nobody sets. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}
