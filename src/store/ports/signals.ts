export interface NewSignal {
  /** An item: the id of a task, or `<discovery>/<key>` of a row. Or the task of this name that has this key and is not finished. */
  to: { item: string } | { task: string; key: string }
  name: string
  /** JSON. Null for none. */
  payload: string | null
}

/** `kept`: nothing waits for it yet. `resumes`: the item was suspended, and is due. */
export type SignalAnswer = 'kept' | 'resumes' | 'finished' | 'gone'
