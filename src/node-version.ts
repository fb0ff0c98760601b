// Imported before anything else: better-sqlite3 crashes without a word on a Node that is too old.
const NEEDED = [22, 18] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  const error = new Error(
    `Gleaner needs Node.js ${NEEDED.join('.')} or newer; this is ${process.versions.node}. ` +
      'Install a current Node.js (https://nodejs.org), or run your program with one.',
  )
  error.name = 'GleanerError'
  error.stack = `${error.name}: ${error.message}`
  throw Object.assign(error, { code: 'NODE_TOO_OLD' })
}
