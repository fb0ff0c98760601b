import Database from 'better-sqlite3'

/** A process of its own that reads a number and writes the next one, in one transaction, until its input ends. */
const app = new Database(process.argv[2]!, { timeout: 10_000 })
app.pragma('synchronous = OFF')
const increment = app.transaction(() => {
  const n = app.prepare('SELECT n FROM counted').pluck().get() as number
  app.prepare('UPDATE counted SET n = ?, by_child = by_child + 1').run(n + 1)
})
let isOver = false
process.stdin.resume().once('end', () => {
  isOver = true
})
process.stdout.write('ready\n')
while (!isOver) {
  for (let n = 0; n < 20; n++) increment.immediate()
  await new Promise((resolve) => setTimeout(resolve, 1))
}
app.close()
process.stdout.write('done\n')
