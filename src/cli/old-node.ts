/** Says so in one line, without the stack of whoever found out. */
export async function isTooOld(): Promise<boolean> {
  try {
    await import('../node-version.ts')
    return false
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
    return true
  }
}
