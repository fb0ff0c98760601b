/** Asks again and again, without resting for long, until the answer is yes. */
export async function until(
  what: string,
  isSo: () => Promise<boolean> | boolean,
  withinMs = 60_000,
): Promise<void> {
  const deadlineMs = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
