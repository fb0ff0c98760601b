import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

const CACHE = join(import.meta.dirname, '../../node_modules/.cache')
const HOME = join(CACHE, 'gleaner-chromium')

/** A real Chromium, from npm. */
export async function openBrowser(): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpacked(),
    // In a single process, the end of one page is the end of all pages. An emulated GPU costs half of the processor time.
    args: [
      ...chromium.args.filter(
        (arg) =>
          !/^--(headless|single-process|use-gl|use-angle|ignore-gpu|in-process-gpu|enable-unsafe-swiftshader)/.test(
            arg,
          ),
      ),
      '--disable-gpu',
    ],
    headless: true,
  })
}

/** Once for all runs, beside the packages; and never half of it, should somebody be killed on the way. */
async function unpacked(): Promise<string> {
  const path = join(HOME, 'chromium')
  if (existsSync(path)) return path
  mkdirSync(CACHE, { recursive: true })
  const scratch = mkdtempSync(join(CACHE, 'chromium-'))
  const { TMPDIR } = process.env
  process.env.TMPDIR = scratch
  await chromium.executablePath()
  if (TMPDIR === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = TMPDIR
  try {
    renameSync(scratch, HOME)
  } catch {
    // Somebody else was first.
    rmSync(scratch, { recursive: true, force: true })
  }
  return path
}
