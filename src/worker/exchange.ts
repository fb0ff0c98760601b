import type { Hands } from './hands.ts'
import type { Room, Source, Taken } from './sources/source.ts'

/** Hands in what is finished, and takes what is next. What could not be handed in is news for the next time. */
export async function exchange(
  source: Source,
  hands: Hands,
  { session, want, inDoubt }: { session: string; want: Room | null; inDoubt: boolean },
): Promise<Taken> {
  const news = source.news.take()
  const begun = hands.unknownStarts(source)
  const starts = begun.map(({ claim: { id, fence }, startedAt }) => ({ id, fence, startedAt }))
  try {
    const answer = await source.exchange({
      session,
      starts,
      ...news.parts,
      want,
      holding: inDoubt ? hands.ids(source) : undefined,
    })
    for (const execution of begun) execution.startIsKnown = true
    source.report(hands.reporting, news.handedIn, answer)
    return answer
  } catch (error) {
    news.putBack()
    throw error
  }
}
