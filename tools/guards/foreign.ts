import type { Guard } from './guard.ts'

const PROGRAM = 'src/process/foreign-program.ts'
const TEST = 'test/process/foreign.test.ts'

export const FOREIGN: readonly Guard[] = [
  {
    name: 'a program that hangs is killed',
    promise: 'A task past its deadline in a program that does not heed it does not hold its worker for ever.',
    file: PROGRAM,
    find: '    this.#condemned = Promise.withResolvers()\n    this.kill()\n',
    replace: '    this.#condemned = Promise.withResolvers()\n',
    test: {
      file: TEST,
      title: 'that hangs past the deadline is killed and replaced; the others in flight lose nothing',
    },
  },
  {
    name: "the others in a hung program's hands lose nothing",
    promise: 'Who ran beside a task that hung is not charged for it.',
    file: PROGRAM,
    find: "const error = new RetryLater(0, 'the program was killed because another task did not end')",
    replace: "const error = new Error('killed')",
    test: {
      file: TEST,
      title: 'that hangs past the deadline is killed and replaced; the others in flight lose nothing',
    },
  },
  {
    name: 'a program that ends by itself has crashed',
    promise: 'A task that kills its program is charged a crash.',
    file: PROGRAM,
    find: 'if (this.#condemned === undefined) return this.#options.onCrash(end)',
    replace: 'if (this.#condemned === undefined) return',
    test: {
      file: TEST,
      title: 'that ends without being asked to (kill -9) is a crash, and its last words are kept',
    },
  },
  {
    name: 'lines of a program are bounded',
    promise: 'However long an answer is, no more than a result of it is held.',
    file: 'src/process/bounded-lines.ts',
    find: 'if (this.#length <= this.#maxChars) this.#parts.push(part)',
    replace: 'if (this.#length <= Number.MAX_SAFE_INTEGER) this.#parts.push(part)',
    test: {
      file: TEST,
      title: 'whose answer is too long to be read has failed for good, and memory stays bounded',
    },
  },
  {
    name: 'a program that will not stop is killed',
    promise: 'Stopping ends.',
    file: PROGRAM,
    find: 'clock.after(2 * graceMs, () => this.kill())',
    replace: "clock.after(2 * graceMs, () => this.#child.kill('SIGTERM'))",
    test: { file: TEST, title: 'that ignores stop, the end of its stdin and SIGTERM is killed' },
  },
  {
    name: "a result is checked against the task's output",
    promise: 'What a program answers is what the types say.',
    file: 'src/process/foreign-tasks.ts',
    find: 'output === undefined ? result',
    replace: 'output !== null ? result',
    test: { file: TEST, title: "whose result is not what the task's output says has failed for good" },
  },
  {
    name: 'who has written a frame is expected to go on',
    promise: 'A program that hangs is noticed, if it ever wrote a frame.',
    file: 'src/process/foreign-health.ts',
    find: 'clock.afterIfAlive(HUNG_FRAMES * frameEveryMs, onHung)',
    replace: 'clock.afterIfAlive(HUNG_FRAMES * frameEveryMs, () => {})',
    test: {
      file: 'test/process/foreign-health.test.ts',
      title:
        'after its first frame it is expected to go on: silent for 10 s it is unhealthy, for 30 s it is hung',
    },
  },
  {
    name: 'a program gives integers of any length',
    promise: 'What a program answers is kept with all its digits.',
    file: 'src/process/foreign-protocol.ts',
    find: 'const value = readExactly(json)',
    replace: 'const value: unknown = JSON.parse(json)',
    test: { file: TEST, title: 'gets and gives integers of any length, with all their digits' },
  },
  {
    name: 'a program gets integers of any length',
    promise: 'What is stored reaches a program with all its digits.',
    file: 'src/worker/sources/tasks.ts',
    find: 'undefined : readExactly(this.claim.input)',
    replace: 'undefined : JSON.parse(this.claim.input)',
    test: { file: TEST, title: 'gets and gives integers of any length, with all their digits' },
  },
]
