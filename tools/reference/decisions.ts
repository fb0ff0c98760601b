/** The page of all decisions, from the first lines of each one's page. */
export function decisionIndex(pages: readonly { name: string; text: string }[]): string {
  const rows = pages.map(({ name, text }) => {
    const [, number, title] = /^# (\d+)\. (.+?)(?: \([\d-]+\))?$/m.exec(text)!
    return `| ${number} | [${title}](${name}) |`
  })
  return [
    '# Decisions',
    '',
    'Why Gleaner is built as it is: one page for each choice that had alternatives, with the measurements behind it. These pages are',
    'notes for people who change Gleaner. You do not need them to use it.',
    '',
    '| number | decision |',
    '| --- | --- |',
    ...rows,
    '',
  ].join('\n')
}
