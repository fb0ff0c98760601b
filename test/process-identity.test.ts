import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, onTestFinished, test } from 'vitest'
import { identifySelf, isInSight, isProvedDead, type ProcessIdentity } from '../src/process-identity.ts'
import { canUnshare, IN_A_CONTAINER, onAnotherBoot } from './namespaces.ts'

const IDENTITY = import.meta.resolve('../src/process-identity.ts')
const ONE_FILE = { remote: false }
const ONE_SERVER = { remote: true }

/** A process of its own, and what it says of itself. */
async function living(command: string[] = []): Promise<ProcessIdentity> {
  const program = `import { identifySelf } from '${IDENTITY}'
    console.log(JSON.stringify(identifySelf()))
    process.stdin.resume()`
  const [first, ...rest] = [...command, process.execPath, '--input-type=module', '-e', program]
  const child = spawn(first!, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  // Also where the kill would reach only the program that made its namespaces.
  onTestFinished(async () => {
    const exited = once(child, 'exit')
    child.stdin.end()
    child.kill('SIGKILL')
    await exited
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return JSON.parse(line)
}

/** What another place thinks of these processes. */
function judged(command: string[], identities: ProcessIdentity[], reach: { remote: boolean }): boolean[] {
  const program = `import { isProvedDead } from '${IDENTITY}'
    const [identities, reach] = JSON.parse(process.argv[1])
    console.log(JSON.stringify(identities.map((one) => isProvedDead(one, reach))))`
  const [first, ...rest] = [...command, process.execPath, '--input-type=module', '-e', program]
  const { stdout } = spawnSync(first!, [...rest, JSON.stringify([identities, reach])], { encoding: 'utf8' })
  return JSON.parse(stdout)
}

function gone(): ProcessIdentity {
  const { pid } = spawnSync('true')
  return { ...identifySelf(), pid, startTime: '1' }
}

describe('a process is proved dead', () => {
  test('when it is gone, or its pid belongs to another one', () => {
    expect(isProvedDead(identifySelf(), ONE_SERVER)).toBe(false)
    expect(isProvedDead(gone(), ONE_SERVER)).toBe(true)
    expect(isProvedDead({ ...identifySelf(), startTime: '1' }, ONE_SERVER)).toBe(true)
  })

  test('also after the host got another name', () => {
    expect(isProvedDead({ ...gone(), host: 'renamed' }, ONE_SERVER)).toBe(true)
    expect(isProvedDead({ ...identifySelf(), host: 'renamed' }, ONE_SERVER)).toBe(false)
  })

  test('by another boot of its host where one file is shared, and never where a server is', () => {
    const [, namespace] = identifySelf().boot.split('/')
    const before = { ...gone(), boot: `another-boot/${namespace}` }
    expect(isProvedDead(before, ONE_FILE)).toBe(true)
    expect(isProvedDead(before, ONE_SERVER)).toBe(false)
    expect(isProvedDead({ ...before, host: 'another-host' }, ONE_FILE)).toBe(false)
  })

  test('by no process of a system that does not tell its boot', () => {
    for (const reach of [ONE_FILE, ONE_SERVER]) {
      expect(isProvedDead({ ...gone(), boot: 'unknown' }, reach)).toBe(false)
    }
  })
})

describe.skipIf(!canUnshare())('a process that lives', () => {
  test('is not proved dead from another container, whose hostname is the same and where its pid is another process or none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gleaner-boot-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'boot_id'), '11111111-2222-3333-4444-555555555555\n')
    const here = [identifySelf(), await living(IN_A_CONTAINER)]
    expect(new Set(here.map(({ host }) => host)).size).toBe(1)
    for (const reach of [ONE_FILE, ONE_SERVER]) {
      expect(here.map((one) => isProvedDead(one, reach))).toEqual([false, false])
      expect(judged(IN_A_CONTAINER, here, reach)).toEqual([false, false])
    }
    // A cloned machine has the same name, and its first process namespace the same number.
    expect(judged(onAnotherBoot(join(folder, 'boot_id')), here, ONE_SERVER)).toEqual([false, false])
    expect(here.map(isInSight)).toEqual([true, false])
  })

  test('is not proved dead where /proc shows the processes of another namespace', () => {
    const program = `import { identifySelf, isProvedDead } from '${IDENTITY}'
      const self = identifySelf()
      console.log(JSON.stringify([self.startTime, isProvedDead({ ...self, startTime: '1' }, { remote: true })]))`
    const node = [process.execPath, '--input-type=module', '-e', program]
    const { stdout } = spawnSync('unshare', ['--pid', '--fork', ...node], { encoding: 'utf8' })
    // As long as it runs, its start time, which it cannot know, proves nothing.
    expect(JSON.parse(stdout)).toEqual([null, false])
  })
})
