import { type FormEvent, useId, useState } from 'react'
import { readExactly, writeExactly } from '../../src/exact-json.ts'
import type { Definition, Enqueued } from '../../src/http/wire/types.ts'
import { type ApiError, ask } from '../api/client.ts'
import { somethingChanged } from '../api/live.ts'
import { useMayAct } from '../api/session.ts'
import { useQuery } from '../api/use-query.ts'
import { Facts, PageHead, Panel } from '../parts/panel.tsx'
import { SchemaField } from '../parts/schema-field.tsx'
import { type Draft, draftOf, enteredIn, isForm, type Schema } from '../parts/schema-value.ts'
import { Answered, Empty, sentence } from '../parts/states.tsx'
import { say } from '../parts/toast.tsx'
import { go, useFilters } from '../router.tsx'
import { duration } from '../text/format.ts'

export function EnqueuePage() {
  const mayAct = useMayAct()
  const query = useQuery<{ items: Definition[] }>('/definitions', { live: false })
  if (!mayAct)
    return (
      <Empty icon="enqueue" title="Viewers cannot enqueue tasks" isPage>
        Sign in with an operator's token.
      </Empty>
    )
  return (
    <>
      <PageHead title="Enqueue a task" />
      <Answered query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="tasks" title="This server has no tasks">
              Add <code>tasks</code> to your config.
            </Empty>
          ) : (
            <Chooser definitions={items} />
          )
        }
      </Answered>
    </>
  )
}

function Chooser({ definitions }: { definitions: Definition[] }) {
  const [filters, setFilters] = useFilters()
  const chosen = definitions.find(({ name }) => name === filters.get('task')) ?? definitions[0]!
  return (
    <div className="split">
      <Panel title="Task">
        <label className="field">
          <span>Name</span>
          <select value={chosen.name} onChange={(event) => setFilters({ task: event.target.value })}>
            {definitions.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <EnqueueForm definition={chosen} key={chosen.name} />
      </Panel>
      <Panel title="Definition">
        <Facts
          facts={[
            ['Queue', chosen.queue],
            ['Attempts', chosen.maxAttempts],
            ['Time-out', duration(chosen.timeoutMs)],
            chosen.requires === null ? null : ['Requires', JSON.stringify(chosen.requires)],
            chosen.recurs ? ['Schedule', 'yes'] : null,
          ]}
        />
      </Panel>
    </div>
  )
}

interface Options {
  priority: string
  runAfter: string
  key: string
}

function EnqueueForm({ definition: { name, input, hasInput } }: { definition: Definition }) {
  const schema = (input ?? {}) as Schema
  const [asJson, setAsJson] = useState(input === null || !isForm(schema))
  const [draft, setDraft] = useState<Draft>(() => draftOf(schema))
  const [text, setText] = useState('{}')
  const [options, setOptions] = useState<Options>({ priority: '', runAfter: '', key: '' })
  const [error, setError] = useState<{ message: string; issues: ApiError['issues'] } | null>(null)
  const [busy, setBusy] = useState(false)

  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      const value =
        !hasInput && text.trim() === '' ? undefined : asJson ? readExactly(text) : enteredIn(schema, draft)
      const { id, created } = await ask<Enqueued>('/tasks', 'POST', {
        name,
        input: value,
        options: optionsOf(options),
      })
      say(created ? `Enqueued task ${id}` : `Task ${id} already has this key`)
      somethingChanged()
      go(`/tasks/${id}`)
    } catch (problem) {
      const { message, issues = [] } = problem as ApiError
      setError({ message: sentence(message), issues })
      setBusy(false)
    }
  }
  const switchOver = () => {
    if (!asJson) setText(writeExactly(enteredIn(schema, draft) ?? {}, 2))
    setAsJson(!asJson)
  }
  const issues = error?.issues ?? []
  return (
    <form className="form" onSubmit={onSubmit} noValidate>
      {error !== null && (
        <p className="callout" data-tone="red" role="alert">
          {error.message}
        </p>
      )}
      {asJson ? (
        <JsonField text={text} onChange={setText} issues={issues} />
      ) : (
        <SchemaField
          label="Input"
          path="input"
          schema={schema}
          draft={draft}
          onChange={setDraft}
          issues={issues}
          required
          isRoot
        />
      )}
      {input !== null && isForm(schema) && (
        <button type="button" className="link-button" onClick={switchOver}>
          {asJson ? 'Edit as a form' : 'Edit as JSON'}
        </button>
      )}
      <OptionFields options={options} onChange={setOptions} issues={issues} />
      <div className="form-actions">
        <button type="submit" className="button" data-tone="primary" disabled={busy} aria-busy={busy}>
          Enqueue {name}
        </button>
      </div>
    </form>
  )
}

function JsonField({
  text,
  onChange,
  issues,
}: {
  text: string
  onChange: (text: string) => void
  issues: ApiError['issues']
}) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>Input (JSON)</label>
      <textarea
        id={id}
        rows={8}
        className="mono"
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.target.value)}
        aria-describedby={`${id}-issues`}
        aria-invalid={issues.length > 0}
      />
      <ul id={`${id}-issues`} className="field-error">
        {issues.map(({ path, message }) => (
          <li key={path + message}>
            {path}: {message}
          </li>
        ))}
      </ul>
    </div>
  )
}

const OPTIONS: readonly { name: keyof Options; label: string; hint: string }[] = [
  { name: 'priority', label: 'Priority', hint: '1 (first) to 1000; default 100' },
  { name: 'runAfter', label: 'Run after', hint: '5m, 2h, or 2030-01-31T08:00Z' },
  { name: 'key', label: 'Key', hint: 'at most one unfinished task has this key' },
]

function OptionFields({
  options,
  onChange,
  issues,
}: {
  options: Options
  onChange: (options: Options) => void
  issues: ApiError['issues']
}) {
  const id = useId()
  return (
    <fieldset className="options">
      <legend>Options</legend>
      {OPTIONS.map(({ name, label, hint }) => {
        const wrong = issues.find(({ path }) => path === `options.${name}`)
        return (
          <div className="field" key={name}>
            <label htmlFor={`${id}${name}`}>{label}</label>
            <input
              id={`${id}${name}`}
              value={options[name]}
              onChange={(event) => onChange({ ...options, [name]: event.target.value })}
              aria-invalid={wrong !== undefined}
              aria-describedby={`${id}${name}-hint`}
            />
            <p id={`${id}${name}-hint`} className={wrong === undefined ? 'muted' : 'field-error'}>
              {wrong?.message ?? hint}
            </p>
          </div>
        )
      })}
    </fieldset>
  )
}

function optionsOf({ priority, runAfter, key }: Options): Record<string, unknown> {
  const isNumber = /^\d+$/.test(priority)
  return {
    ...(priority === '' ? {} : { priority: isNumber ? Number(priority) : priority }),
    ...(runAfter === '' ? {} : { runAfter }),
    ...(key === '' ? {} : { key }),
  }
}
