import { readFileSync } from 'node:fs'

const LISTENING = '0A'
/** Addresses as the kernel writes them: words of four bytes, the lowest byte first. */
const ANY_4 = /^0{8}$/
const LOOPBACK_4 = /^[0-9A-F]{6}7F$/
const ANY_6 = /^0{32}$/
const LOOPBACK_6 = /^0{24}01000000$/
const LOOPBACK_4_IN_6 = /^0{16}FFFF0000[0-9A-F]{6}7F$/

/** The users whose programs listen on this port, for connections from this machine. Null: the system does not show it. */
export function listenersOn(port: number): number[] | null {
  if (process.platform !== 'linux') return null
  try {
    const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFileSync(path, 'utf8'))
    return usersIn(tables.join('\n'), port)
  } catch {
    return null
  }
}

export function usersIn(table: string, port: number): number[] {
  const users = new Set<number>()
  for (const line of table.split('\n')) {
    // Number, local address, remote address, state, queues, timer, retransmissions, user.
    const [, local, , state, , , , user] = line.trim().split(/ +/)
    if (state !== LISTENING || local === undefined) continue
    const [address, hex] = local.split(':') as [string, string]
    if (Number.parseInt(hex, 16) === port && isReached(address)) users.add(Number(user))
  }
  return [...users]
}

function isReached(address: string): boolean {
  return [ANY_4, LOOPBACK_4, ANY_6, LOOPBACK_6, LOOPBACK_4_IN_6].some((form) => form.test(address))
}
