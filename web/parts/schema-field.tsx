import { useId } from 'react'
import { Icon } from './icon.tsx'
import { type Draft, draftOf, kindOf, type Schema } from './schema-value.ts'

export interface SchemaFieldProps {
  label: string
  /** As issues name it: `input.path`. */
  path: string
  schema: Schema
  draft: Draft
  onChange: (draft: Draft) => void
  issues: readonly { path: string; message: string }[]
  required: boolean
  isRoot?: boolean
}

/** One field for what a schema says, or one for each part of it. */
export function SchemaField(props: SchemaFieldProps) {
  switch (kindOf(props.schema)) {
    case 'object':
      return <ObjectFields {...props} />
    case 'array':
      return <ListFields {...props} />
    case 'boolean':
      return <Flag {...props} />
    default:
      return <OneField {...props} />
  }
}

function ObjectFields({ label, path, schema, draft, onChange, issues, isRoot }: SchemaFieldProps) {
  const values = draft as Record<string, Draft>
  const names = Object.keys(schema.properties!)
  return (
    <fieldset className={isRoot ? 'fields' : 'fields fields-nested'}>
      <legend className={isRoot ? 'visually-hidden' : ''}>{label}</legend>
      {names.length === 0 && <p className="muted">This task takes no input.</p>}
      {names.map((name) => (
        <SchemaField
          key={name}
          label={schema.properties![name]!.title ?? name}
          path={`${path}.${name}`}
          schema={schema.properties![name]!}
          draft={values[name]!}
          onChange={(value) => onChange({ ...values, [name]: value })}
          issues={issues}
          required={schema.required?.includes(name) ?? false}
        />
      ))}
    </fieldset>
  )
}

function ListFields({ label, path, schema, draft, onChange, issues }: SchemaFieldProps) {
  const values = draft as Draft[]
  const without = (index: number) => values.filter((_, other) => other !== index)
  return (
    <fieldset className="fields fields-nested">
      <legend>{label}</legend>
      {values.map((value, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: entries have no other name
        <div className="list-entry" key={index}>
          <SchemaField
            label={`${label} ${index + 1}`}
            path={`${path}.${index}`}
            schema={schema.items!}
            draft={value}
            onChange={(next) => onChange(values.map((one, other) => (other === index ? next : one)))}
            issues={issues}
            required
          />
          <button
            type="button"
            className="icon-button"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => onChange(without(index))}
          >
            <Icon name="cancel" size={16} />
          </button>
        </div>
      ))}
      <button
        type="button"
        className="button"
        data-small
        onClick={() => onChange([...values, draftOf(schema.items!)])}
      >
        <Icon name="enqueue" size={16} /> Add
      </button>
      <Problems path={path} issues={issues} id={undefined} />
    </fieldset>
  )
}

function Flag({ label, path, schema, draft, onChange, issues }: SchemaFieldProps) {
  const id = useId()
  return (
    <div className="field">
      <label className="flag">
        <input
          type="checkbox"
          checked={draft === true}
          onChange={(event) => onChange(event.target.checked)}
          aria-describedby={id}
        />
        {label}
      </label>
      {schema.description !== undefined && <p className="muted">{schema.description}</p>}
      <Problems path={path} issues={issues} id={id} />
    </div>
  )
}

function OneField({ label, path, schema, draft, onChange, issues, required }: SchemaFieldProps) {
  const id = useId()
  const kind = kindOf(schema)
  const shared = {
    id,
    value: draft as string,
    required,
    'aria-invalid': issues.some((issue) => issue.path === path),
    'aria-describedby': `${id}-note`,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {!required && <span className="muted"> optional</span>}
      </label>
      {kind === 'choice' ? (
        <select {...shared}>
          <option value="">Choose …</option>
          {schema.enum!.map((one) => (
            <option key={String(one)}>{String(one)}</option>
          ))}
        </select>
      ) : kind === 'json' ? (
        <textarea {...shared} rows={3} className="mono" placeholder="JSON" spellCheck={false} />
      ) : (
        <input {...shared} type="text" inputMode={kind === 'number' ? 'decimal' : undefined} />
      )}
      <div id={`${id}-note`}>
        {schema.description !== undefined && <p className="muted">{schema.description}</p>}
        <Problems path={path} issues={issues} id={undefined} />
      </div>
    </div>
  )
}

function Problems({
  path,
  issues,
  id,
}: Pick<SchemaFieldProps, 'path' | 'issues'> & { id: string | undefined }) {
  const mine = issues.filter((issue) => issue.path === path)
  return (
    <div id={id}>
      {mine.map(({ message }) => (
        <p className="field-error" key={message}>
          {message}
        </p>
      ))}
    </div>
  )
}
