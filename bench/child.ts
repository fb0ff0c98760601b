// The entry of every child process: takes one role, plays it, reports the result and ends.
import { Mailbox } from './mailbox.ts'
import type { Message } from './processes.ts'
import type { Parent } from './roles/role.ts'

const [roleName, params] = process.argv.slice(2)
const mailbox = new Mailbox()
process.on('message', ({ name, value }: Message) => mailbox.deliver(name, value))
process.on('disconnect', () => process.exit(1))

const parent: Parent = {
  tell: (name, value) => send({ name, value }),
  hear: <T>(name: string) => mailbox.take(name) as Promise<T>,
}

const { run } = await import(`./roles/${roleName}.ts`)
const value = await run(JSON.parse(params ?? ''), parent)
// Some contenders leave timers behind; what is measured is measured.
process.send!({ name: 'result', value } satisfies Message, () => process.exit(0))

function send(message: Message): void {
  process.send!(message)
}
