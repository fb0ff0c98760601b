/** `gleaner.tasks.retry('1')`, with strings only. */
const CALL = /(?:call )?`gleaner(?:\.([a-z]+))?\.([a-zA-Z]+)\(((?:'[^']*'|"(?:[^"\\]|\\.)*"|[\s,])*)\)`/g
const STRING = /'([^']*)'|("(?:[^"\\]|\\.)*")/g

/** Verbs whose command has another name. */
const COMMANDS: Readonly<Record<string, string>> = {
  'queues pause': 'pause',
  'queues resume': 'resume',
  'tasks get': 'tasks show',
}

/** Advice for programs as advice for a terminal: "call `gleaner.tasks.retry('1')`" becomes "run `gleaner tasks retry 1`". */
export function asCommands(advice: string): string {
  return advice.replaceAll(CALL, (call, group: string | undefined, verb: string, args: string) => {
    const name = group === undefined ? verb : `${group} ${verb}`
    const words = [...args.matchAll(STRING)].map(([, plain, json]) => shellWord(plain ?? JSON.parse(json!)))
    const command = `\`${['gleaner', COMMANDS[name] ?? name, ...words].join(' ')}\``
    return call.startsWith('call ') ? `run ${command}` : command
  })
}

/** As one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w.:@%+=,/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
