import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkout, folderWith } from '../config/files.ts'

const BEGIN = '\x1b[?1049h'
const END = '\x1b[?7h\x1b[?25h\x1b[?1049l'

test('gleaner top redraws in place, ends with q, and gives the terminal back', async () => {
  const cwd = folderWith({ 'gleaner.config.ts': "export default { database: 'sqlite:./app.db' }" })
  const command = `stty cols 100 rows 30; exec '${process.execPath}' '${join(checkout, 'src/cli/bin.ts')}' top`
  // A pseudo-terminal, which Node cannot make itself.
  const args =
    process.platform === 'darwin' ? ['-q', '/dev/null', 'sh', '-c', command] : ['-qec', command, '/dev/null']
  const child = spawn('script', args, {
    cwd,
    env: { ...process.env, TERM: 'xterm-256color', GLEANER_DATABASE: '' },
  })
  const failed = once(child, 'error').then(([cause]) => {
    throw new Error('this test needs `script`, of util-linux (Linux) or the system (macOS)', { cause })
  })
  let screen = ''
  child.stdout.on('data', (chunk) => {
    screen += chunk
    // The second time: it has been redrawn.
    if (screen.split('no workers').length > 2 && !child.stdin.writableEnded) child.stdin.end('q')
  })
  const [code] = await Promise.race([once(child, 'close'), failed])
  expect(code).toBe(0)
  expect(screen.indexOf(BEGIN)).toBeGreaterThanOrEqual(0)
  expect(screen).toContain('q quits')
  expect(screen.trimEnd().endsWith(END)).toBe(true)
})
