/** A sentence of the API: what stands between backticks is code. */
export function Prose({ text }: { text: string }) {
  return text.split(/`([^`]+)`/).map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence never change places
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  )
}
