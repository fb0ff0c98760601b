import { loadConfig } from '../../../src/config/load.ts'

/** Loads the config of each of these folders, as Node does it, and tells what came of it. */
const folders = JSON.parse(process.argv[2]!) as string[]
const told = []
for (const folder of folders) {
  told.push(
    await loadConfig(undefined, { cwd: folder, env: {} }).then(
      ({ engine, pools }) => ({ tasks: engine.tasks?.map(({ name }) => name), pools }),
      ({ name, code, message }) => ({ name, code, message }),
    ),
  )
}
console.log(JSON.stringify(told))
