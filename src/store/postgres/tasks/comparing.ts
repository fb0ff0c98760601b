import type { Memory } from './memory.ts'

/** What the session holds is what the database says; what was believed of its batches is not. `life`: of the server. */
export async function noteCompared(memory: Memory, session: string, life: number | null): Promise<void> {
  memory.batches.ended(session)
  if (life === null) await memory.life.begin()
  // A lane that was made just before the loss may be gone.
  if (memory.life.of('tasks', session) !== life) await memory.lanes.refresh()
  memory.life.compared('tasks', session, life)
}
