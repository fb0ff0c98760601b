import { type FormEvent, useState } from 'react'
import { readExactly, writeExactly } from '../../src/exact-json.ts'
import type { StepRecord, Task } from '../../src/http/wire/types.ts'
import { useMayAct } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { act } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { At } from '../parts/now.tsx'
import { Panel } from '../parts/panel.tsx'
import { duration } from '../text/format.ts'

const VALUE_MAX = 200

/** What each step of the task kept, in order, and what it waits for. Tasks without steps show nothing. */
export function TaskSteps({ task: { id, finishedAt } }: { task: Task }) {
  const { data } = useQuery<{ items: StepRecord[] }>(`/tasks/${id}/steps`)
  const steps = data?.items ?? []
  const waiting = steps.filter(({ kind }) => kind === 'wait')
  if (steps.length === 0) return null
  return (
    <Panel title="Steps">
      <ol className="attempts">
        {steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: signals that nothing has taken have no number
          <li key={`${step.name} ${step.number} ${index}`}>
            <StepView step={step} />
          </li>
        ))}
      </ol>
      {finishedAt === null &&
        waiting.map(({ name, number }) => <SignalForm key={`${name} ${number}`} id={id} name={name} />)}
    </Panel>
  )
}

function StepView({
  step: { name, number, kind, value, attempt, startedAt, keptAt, until },
}: {
  step: StepRecord
}) {
  const isOver = kind !== 'wait' && kind !== 'sleep'
  return (
    <article className="attempt">
      <header>
        <h3>{number > 1 ? `${name} (${number})` : name}</h3>
        <Badge status={kind} />
        <span className="muted">
          <At at={keptAt} />
        </span>
        {isOver && keptAt > startedAt && <span className="muted num">{duration(keptAt - startedAt)}</span>}
        {attempt > 0 && <span className="muted">attempt {attempt}</span>}
        {until !== null && !isOver && (
          <span className="muted">
            until <At at={until} />
          </span>
        )}
      </header>
      {/* Of children it is only the number of their flow. */}
      {kind !== 'children' && value !== null && value !== undefined && (
        <code className="cut">{shown(value)}</code>
      )}
    </article>
  )
}

function shown(value: unknown): string {
  const text = writeExactly(value)
  return text.length <= VALUE_MAX ? text : `${text.slice(0, VALUE_MAX)}…`
}

/** Sends the signal that the task waits for. Viewers see none. */
function SignalForm({ id, name }: { id: string; name: string }) {
  const mayAct = useMayAct()
  const [payload, setPayload] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  if (!mayAct) return null
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const read = payload.trim() === '' ? {} : { payload: readExactly(payload) }
      setProblem(null)
      const body = { name, ...read }
      if (await act({ path: `/tasks/${id}/signals`, body, done: `Sent ${name} to task ${id}` }))
        setPayload('')
    } catch {
      setProblem('The payload is not valid JSON.')
    }
  }
  return (
    <form onSubmit={onSubmit}>
      <label className="field">
        <span>Payload of the signal {name}, as JSON</span>
        <input
          value={payload}
          placeholder='{"by":"ada"}'
          onChange={(event) => setPayload(event.target.value)}
        />
      </label>
      {problem !== null && <p className="field-error">{problem}</p>}
      <button type="submit" className="button" data-tone="primary">
        Send {name}
      </button>
    </form>
  )
}
