import type { Guard } from './guard.ts'

const TEST = 'test/http/progress-lines.test.ts'

export const PROGRESS_LINES: readonly Guard[] = [
  {
    name: 'progress lines: asked for by the command line',
    promise: 'A large change through a server shows how far it is.',
    file: 'src/cli/operations/remote.ts',
    find: '{ filter, dryRun, all }, onProgress)',
    replace: '{ filter, dryRun, all }, void onProgress)',
    test: {
      file: TEST,
      title: 'a bulk change through a server tells how far it is while it goes on, and is seen at once',
    },
  },
  {
    name: 'progress lines: what is refused has a status',
    promise: 'A request that cannot be is answered as an error, not as a success that holds one.',
    file: 'src/http/progress-lines.ts',
    find: '  if (progress === undefined) await working\n',
    replace: '',
    test: {
      file: TEST,
      title: 'what fails at once can have a status of its own, and what fails later has a line',
    },
  },
  {
    name: 'progress lines: only the latest is kept',
    promise: 'A client that does not read costs no memory.',
    file: 'src/http/progress-lines.ts',
    find: '    progress = { progress: soFar }\n',
    replace: '    progress ??= { progress: soFar }\n',
    test: { file: TEST, title: 'progress is told as it comes, to who reads slowly the latest only' },
  },
  {
    name: 'progress lines: an answer that breaks off is none',
    promise: 'Nobody takes half a change for the whole.',
    file: 'src/http/client.ts',
    find: "  throw away(base, new Error('the response ended too early'))\n",
    replace: '',
    test: {
      file: TEST,
      title: 'what is refused is refused as ever, and an answer that breaks off is no success',
    },
  },
  {
    name: 'progress lines: a change is seen at once',
    promise: 'Who changes much at a time sees it as soon as who changes one.',
    file: 'src/http/answer.ts',
    find: 'done(route, office, {',
    replace: 'handled(route, office, {',
    test: {
      file: TEST,
      title: 'a bulk change through a server tells how far it is while it goes on, and is seen at once',
    },
  },
]
